set terminal svg size 760,744 noenhanced font "sans-serif,13" background "#ffffff"
set encoding utf8
set border 3 lc rgb "#333333" lw 1
set tics out nomirror scale 0.6 textcolor rgb "#222222"
set label "s: what heads look at, by layer" at screen 0.018421052631578946,0.967741935483871 front left font "sans-serif:Bold,15"
set label "Mean over 2 seeds, after step 2 (200 tokens)." at screen 0.018421052631578946,0.9435483870967742 front left tc rgb "#666666" font "sans-serif,11.5"
set label "Positional: mean attention to the token itself or to the one before is at least 0.4 and not below that to the first token;" at screen 0.018421052631578946,0.051075268817204256 front left tc rgb "#666666" font "sans-serif,11.5"
set label "first-token: that is at least 0.4; semantic: neither." at screen 0.018421052631578946,0.029569892473118253 front left tc rgb "#666666" font "sans-serif,11.5"
unset key
set boxwidth 0.8
set multiplot
set object rectangle from screen 0.8631578947368421,0.8951612903225806 to screen 0.8802631578947369,0.8776881720430108 front fs solid 1 border lc rgb "#444444" fc rgb "#DDDDDD"
set label "semantic" at screen 0.8881578947368421,0.8864247311827957 front left font "sans-serif,12"
set object rectangle from screen 0.8631578947368421,0.8682795698924731 to screen 0.8802631578947369,0.8508064516129032 front fs solid 1 border lc rgb "#444444" fc rgb "#E69F00"
set label "first-token" at screen 0.8881578947368421,0.8595430107526882 front left font "sans-serif,12"
set object rectangle from screen 0.8631578947368421,0.8413978494623656 to screen 0.8802631578947369,0.8239247311827957 front fs solid 1 border lc rgb "#444444" fc rgb "#0072B2"
set label "positional" at screen 0.8881578947368421,0.8326612903225806 front left font "sans-serif,12"
$census0 << EOD
0 1 2 2
1 1 1 2
EOD
set lmargin at screen 0.08157894736842106
set rmargin at screen 0.2850877192982456
set tmargin at screen 0.8951612903225806
set bmargin at screen 0.5725806451612903
set xrange [-0.6:1.6]
set yrange [0:2]
set xtics 0,1
set ytics 0,1
set label "RoPE" at screen 0.18333333333333332,0.9112903225806451 front center font "sans-serif,12.5"
set label "layer" at screen 0.18333333333333332,0.5188172043010753 front center font "sans-serif,12.5"
set label "heads" at screen 0.03289473684210526,0.7338709677419355 front center rotate by 90 font "sans-serif,12.5"
plot $census0 using 1:4 with boxes fs solid 1 border lc rgb "#444444" fc rgb "#DDDDDD" notitle, \
  $census0 using 1:3 with boxes fs solid 1 border lc rgb "#444444" fc rgb "#E69F00" notitle, \
  $census0 using 1:2 with boxes fs solid 1 border lc rgb "#444444" fc rgb "#0072B2" notitle
unset object
$census1 << EOD
0 1 2 2
1 1 1 2
EOD
unset label
set lmargin at screen 0.3640350877192982
set rmargin at screen 0.5675438596491228
set tmargin at screen 0.8951612903225806
set bmargin at screen 0.5725806451612903
set xrange [-0.6:1.6]
set yrange [0:2]
set xtics 0,1
set ytics 0,1
set label "half" at screen 0.46578947368421053,0.9112903225806451 front center font "sans-serif,12.5"
set label "layer" at screen 0.46578947368421053,0.5188172043010753 front center font "sans-serif,12.5"
set label "heads" at screen 0.3153508771929824,0.7338709677419355 front center rotate by 90 font "sans-serif,12.5"
plot $census1 using 1:4 with boxes fs solid 1 border lc rgb "#444444" fc rgb "#DDDDDD" notitle, \
  $census1 using 1:3 with boxes fs solid 1 border lc rgb "#444444" fc rgb "#E69F00" notitle, \
  $census1 using 1:2 with boxes fs solid 1 border lc rgb "#444444" fc rgb "#0072B2" notitle
$census2 << EOD
0 1 2 2
1 1 1 2
EOD
unset label
set lmargin at screen 0.6464912280701754
set rmargin at screen 0.85
set tmargin at screen 0.8951612903225806
set bmargin at screen 0.5725806451612903
set xrange [-0.6:1.6]
set yrange [0:2]
set xtics 0,1
set ytics 0,1
set label "low theta" at screen 0.7482456140350877,0.9112903225806451 front center font "sans-serif,12.5"
set label "layer" at screen 0.7482456140350877,0.5188172043010753 front center font "sans-serif,12.5"
set label "heads" at screen 0.5978070175438597,0.7338709677419355 front center rotate by 90 font "sans-serif,12.5"
plot $census2 using 1:4 with boxes fs solid 1 border lc rgb "#444444" fc rgb "#DDDDDD" notitle, \
  $census2 using 1:3 with boxes fs solid 1 border lc rgb "#444444" fc rgb "#E69F00" notitle, \
  $census2 using 1:2 with boxes fs solid 1 border lc rgb "#444444" fc rgb "#0072B2" notitle
$census3 << EOD
0 1 2 2
1 1 1 2
EOD
unset label
set lmargin at screen 0.08157894736842106
set rmargin at screen 0.2850877192982456
set tmargin at screen 0.45967741935483875
set bmargin at screen 0.13709677419354838
set xrange [-0.6:1.6]
set yrange [0:2]
set xtics 0,1
set ytics 0,1
set label "\042; \140id\140 <script>_{\100a}%d" at screen 0.18333333333333332,0.47580645161290325 front center font "sans-serif,12.5"
set label "layer" at screen 0.18333333333333332,0.08333333333333337 front center font "sans-serif,12.5"
set label "heads" at screen 0.03289473684210526,0.2983870967741935 front center rotate by 90 font "sans-serif,12.5"
plot $census3 using 1:4 with boxes fs solid 1 border lc rgb "#444444" fc rgb "#DDDDDD" notitle, \
  $census3 using 1:3 with boxes fs solid 1 border lc rgb "#444444" fc rgb "#E69F00" notitle, \
  $census3 using 1:2 with boxes fs solid 1 border lc rgb "#444444" fc rgb "#0072B2" notitle
$census4 << EOD
0 1 2 2
1 1 1 2
EOD
unset label
set lmargin at screen 0.3640350877192982
set rmargin at screen 0.5675438596491228
set tmargin at screen 0.45967741935483875
set bmargin at screen 0.13709677419354838
set xrange [-0.6:1.6]
set yrange [0:2]
set xtics 0,1
set ytics 0,1
set label "NoPE" at screen 0.46578947368421053,0.47580645161290325 front center font "sans-serif,12.5"
set label "layer" at screen 0.46578947368421053,0.08333333333333337 front center font "sans-serif,12.5"
set label "heads" at screen 0.3153508771929824,0.2983870967741935 front center rotate by 90 font "sans-serif,12.5"
plot $census4 using 1:4 with boxes fs solid 1 border lc rgb "#444444" fc rgb "#DDDDDD" notitle, \
  $census4 using 1:3 with boxes fs solid 1 border lc rgb "#444444" fc rgb "#E69F00" notitle, \
  $census4 using 1:2 with boxes fs solid 1 border lc rgb "#444444" fc rgb "#0072B2" notitle
$census5 << EOD
0 1 2 2
1 1 1 2
EOD
unset label
set lmargin at screen 0.6464912280701754
set rmargin at screen 0.85
set tmargin at screen 0.45967741935483875
set bmargin at screen 0.13709677419354838
set xrange [-0.6:1.6]
set yrange [0:2]
set xtics 0,1
set ytics 0,1
set label "ALiBi" at screen 0.7482456140350877,0.47580645161290325 front center font "sans-serif,12.5"
set label "layer" at screen 0.7482456140350877,0.08333333333333337 front center font "sans-serif,12.5"
set label "heads" at screen 0.5978070175438597,0.2983870967741935 front center rotate by 90 font "sans-serif,12.5"
plot $census5 using 1:4 with boxes fs solid 1 border lc rgb "#444444" fc rgb "#DDDDDD" notitle, \
  $census5 using 1:3 with boxes fs solid 1 border lc rgb "#444444" fc rgb "#E69F00" notitle, \
  $census5 using 1:2 with boxes fs solid 1 border lc rgb "#444444" fc rgb "#0072B2" notitle
unset multiplot
