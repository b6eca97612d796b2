set terminal svg size 760,732 noenhanced font "sans-serif,13" background "#ffffff"
set encoding utf8
set border 3 lc rgb "#333333" lw 1
set tics out nomirror scale 0.6 textcolor rgb "#222222"
set label "s: exact shares of the logits by layer and frequency pair" at screen 0.018421052631578946,0.9672131147540983 front left font "sans-serif:Bold,15"
set label "Mean over tokens, heads and 2 seeds, after step 2 (200 tokens)." at screen 0.018421052631578946,0.9426229508196722 front left tc rgb "#666666" font "sans-serif,11.5"
set label "Dashed: pairs below it never complete a turn within the context (64 tokens). ∞: not rotated." at screen 0.018421052631578946,0.030054644808743203 front left tc rgb "#666666" font "sans-serif,11.5"
$map0 << EOD
0 0 0.125
1 0 0.125
0 1 0.25
1 1 0.25
0 2 0.5
1 2 0.5
0 3 0.125
1 3 0.125
EOD
$map1 << EOD
0 0 0.125
1 0 0.125
0 1 0.25
1 1 0.25
0 2 0.5
1 2 0.5
0 3 0.125
1 3 0.125
EOD
$map2 << EOD
0 0 0.125
1 0 0.125
0 1 0.25
1 1 0.25
0 2 0.5
1 2 0.5
0 3 0.125
1 3 0.125
EOD
$map3 << EOD
0 0 0.125
1 0 0.125
0 1 0.25
1 1 0.25
0 2 0.5
1 2 0.5
0 3 0.125
1 3 0.125
EOD
$map4 << EOD
0 0 0.125
1 0 0.125
0 1 0.25
1 1 0.25
0 2 0.5
1 2 0.5
0 3 0.125
1 3 0.125
EOD
$map5 << EOD
0 0 0.125
1 0 0.125
0 1 0.25
1 1 0.25
0 2 0.5
1 2 0.5
0 3 0.125
1 3 0.125
EOD
set palette defined (0 "#440154", 1 "#48186a", 2 "#472d7b", 3 "#424086", 4 "#3b528b", 5 "#33638d", 6 "#2c728e", 7 "#26828e", 8 "#21918c", 9 "#1fa088", 10 "#28ae80", 11 "#3fbc73", 12 "#5ec962", 13 "#84d44b", 14 "#addc30", 15 "#d8e219", 16 "#fde725")
unset key
set border 15
set multiplot
set lmargin at screen 0.09210526315789473
set rmargin at screen 0.2535087719298246
set tmargin at screen 0.8961748633879781
set bmargin at screen 0.5683060109289617
set label "RoPE" at screen 0.17280701754385963,0.9112021857923497 front center font "sans-serif,12.5"
set xrange [-0.5:1.5]
set yrange [3.5:-0.5]
set xtics ("0" 0, "1" 1) out scale 0.5 offset 0,0 font "sans-serif,11.5"
set ytics ("0" 0, "1" 1, "2" 2, "3" 3) out scale 0.5 offset 0,0 font "sans-serif,11.5"
set y2range [3.5:-0.5]
set y2tics ("10" 0.20182013164188498, "100" 1.2018201316418848, "1k" 2.201820131641885) out scale 0.5 font "sans-serif,11.5"
set label "layer" at screen 0.17280701754385963,0.5095628415300546 front center font "sans-serif,12.5"
set label "frequency pair" at screen 0.02894736842105263,0.7322404371584699 front center rotate by 90 font "sans-serif,12.5"
set arrow from -0.5,1.5 to 1.5,1.5 nohead front lw 2.6 dt 1 lc rgb "#ffffff"
set arrow from -0.5,1.5 to 1.5,1.5 nohead front lw 2 dt (5,4) lc rgb "#000000"
set cbrange [0:0.5]
set colorbox vertical user origin screen 0.8868421052631579,0.5683060109289617 size screen 0.015789473684210527,0.32786885245901637 noborder
set cbtics out scale 0.4 font "sans-serif,11.5"
set label "share of the mean |contribution|" at screen 0.9815789473684211,0.7322404371584699 front center rotate by 90 font "sans-serif,12.5"
plot $map0 using 1:2:3 with image pixels
unset label
unset arrow
unset object
set lmargin at screen 0.3640350877192982
set rmargin at screen 0.525438596491228
set tmargin at screen 0.8961748633879781
set bmargin at screen 0.5683060109289617
set label "half" at screen 0.44473684210526315,0.9112021857923497 front center font "sans-serif,12.5"
set xrange [-0.5:1.5]
set yrange [3.5:-0.5]
set xtics ("0" 0, "1" 1) out scale 0.5 offset 0,0 font "sans-serif,11.5"
set ytics ("0" 0, "1" 1, "2" 2, "3" 3) out scale 0.5 offset 0,0 font "sans-serif,11.5"
set y2range [3.5:-0.5]
set y2tics ("10" 0.20182013164188498, "∞" 2.5) out scale 0.5 font "sans-serif,11.5"
set label "layer" at screen 0.44473684210526315,0.5095628415300546 front center font "sans-serif,12.5"
set arrow from -0.5,1.5 to 1.5,1.5 nohead front lw 2.6 dt 1 lc rgb "#ffffff"
set arrow from -0.5,1.5 to 1.5,1.5 nohead front lw 2 dt (5,4) lc rgb "#000000"
set cbrange [0:0.5]
unset colorbox
plot $map1 using 1:2:3 with image pixels
unset label
unset arrow
unset object
set lmargin at screen 0.6359649122807017
set rmargin at screen 0.7973684210526316
set tmargin at screen 0.8961748633879781
set bmargin at screen 0.5683060109289617
set label "low theta" at screen 0.7166666666666666,0.9112021857923497 front center font "sans-serif,12.5"
set xrange [-0.5:1.5]
set yrange [3.5:-0.5]
set xtics ("0" 0, "1" 1) out scale 0.5 offset 0,0 font "sans-serif,11.5"
set ytics ("0" 0, "1" 1, "2" 2, "3" 3) out scale 0.5 offset 0,0 font "sans-serif,11.5"
set y2range [3.5:-0.5]
set y2tics ("10" 0.40364052269783074, "100" 2.403642740077354) out scale 0.5 font "sans-serif,11.5"
set label "layer" at screen 0.7166666666666666,0.5095628415300546 front center font "sans-serif,12.5"
set label "wavelength (tokens)" at screen 0.8631578947368421,0.7322404371584699 front center rotate by 90 font "sans-serif,12.5"
set arrow from -0.5,2.5 to 1.5,2.5 nohead front lw 2.6 dt 1 lc rgb "#ffffff"
set arrow from -0.5,2.5 to 1.5,2.5 nohead front lw 2 dt (5,4) lc rgb "#000000"
set cbrange [0:0.5]
unset colorbox
plot $map2 using 1:2:3 with image pixels
unset label
unset arrow
unset object
set lmargin at screen 0.09210526315789473
set rmargin at screen 0.2535087719298246
set tmargin at screen 0.4508196721311475
set bmargin at screen 0.12295081967213117
set label "\042; \140id\140 <script>_{\100a}%d" at screen 0.17280701754385963,0.46584699453551914 front center font "sans-serif,12.5"
set xrange [-0.5:1.5]
set yrange [3.5:-0.5]
set xtics ("0" 0, "1" 1) out scale 0.5 offset 0,0 font "sans-serif,11.5"
set ytics ("0" 0, "1" 1, "2" 2, "3" 3) out scale 0.5 offset 0,0 font "sans-serif,11.5"
set y2range [3.5:-0.5]
set y2tics ("10" 0.40364052269783074, "∞" 2.5) out scale 0.5 font "sans-serif,11.5"
set label "layer" at screen 0.17280701754385963,0.06420765027322406 front center font "sans-serif,12.5"
set label "frequency pair" at screen 0.02894736842105263,0.28688524590163933 front center rotate by 90 font "sans-serif,12.5"
set arrow from -0.5,1.5 to 1.5,1.5 nohead front lw 2.6 dt 1 lc rgb "#ffffff"
set arrow from -0.5,1.5 to 1.5,1.5 nohead front lw 2 dt (5,4) lc rgb "#000000"
set cbrange [0:0.5]
unset colorbox
plot $map3 using 1:2:3 with image pixels
unset label
unset arrow
unset object
set lmargin at screen 0.3640350877192982
set rmargin at screen 0.525438596491228
set tmargin at screen 0.4508196721311475
set bmargin at screen 0.12295081967213117
set label "NoPE" at screen 0.44473684210526315,0.46584699453551914 front center font "sans-serif,12.5"
set xrange [-0.5:1.5]
set yrange [3.5:-0.5]
set xtics ("0" 0, "1" 1) out scale 0.5 offset 0,0 font "sans-serif,11.5"
set ytics ("0" 0, "1" 1, "2" 2, "3" 3) out scale 0.5 offset 0,0 font "sans-serif,11.5"
set y2range [3.5:-0.5]
set y2tics ("∞" 1.5) out scale 0.5 font "sans-serif,11.5"
set label "layer" at screen 0.44473684210526315,0.06420765027322406 front center font "sans-serif,12.5"
set cbrange [0:0.5]
unset colorbox
plot $map4 using 1:2:3 with image pixels
unset label
unset arrow
unset object
set lmargin at screen 0.6359649122807017
set rmargin at screen 0.7973684210526316
set tmargin at screen 0.4508196721311475
set bmargin at screen 0.12295081967213117
set label "ALiBi" at screen 0.7166666666666666,0.46584699453551914 front center font "sans-serif,12.5"
set xrange [-0.5:1.5]
set yrange [3.5:-0.5]
set xtics ("0" 0, "1" 1) out scale 0.5 offset 0,0 font "sans-serif,11.5"
set ytics ("0" 0, "1" 1, "2" 2, "3" 3) out scale 0.5 offset 0,0 font "sans-serif,11.5"
set y2range [3.5:-0.5]
set y2tics ("∞" 1.5) out scale 0.5 font "sans-serif,11.5"
set label "layer" at screen 0.7166666666666666,0.06420765027322406 front center font "sans-serif,12.5"
set label "wavelength (tokens)" at screen 0.8631578947368421,0.28688524590163933 front center rotate by 90 font "sans-serif,12.5"
set cbrange [0:0.5]
unset colorbox
plot $map5 using 1:2:3 with image pixels
unset multiplot
