set terminal svg size 760,732 noenhanced font "sans-serif,13" background "#ffffff"
set encoding utf8
set border 3 lc rgb "#333333" lw 1
set tics out nomirror scale 0.6 textcolor rgb "#222222"
set label "s: austen/loss_change without a band of frequencies" at screen 0.018421052631578946,0.9672131147540983 front left font "sans-serif:Bold,15"
set label "Mean over seeds. zero: the pairs supply nothing to any logit; freeze: they do not turn. Colours end with the largest" at screen 0.018421052631578946,0.9426229508196722 front left tc rgb "#666666" font "sans-serif,11.5"
set label "change of a single layer." at screen 0.018421052631578946,0.9207650273224044 front left tc rgb "#666666" font "sans-serif,11.5"
$map0 << EOD
0 0 0.5625
1 0 0.25
0 1 0.125
1 1 NaN
EOD
$map1 << EOD
0 0 0.5625
1 0 0.25
0 1 0.125
1 1 NaN
EOD
$map2 << EOD
0 0 0.5625
1 0 0.25
0 1 0.125
1 1 NaN
EOD
$map3 << EOD
0 0 0.5625
1 0 0.25
0 1 0.125
1 1 NaN
EOD
$map4 << EOD
0 0 0.5625
1 0 0.25
0 1 0.125
1 1 NaN
EOD
$map5 << EOD
0 0 0.5625
1 0 0.25
0 1 0.125
1 1 NaN
EOD
set palette defined (0 "#440154", 1 "#48186a", 2 "#472d7b", 3 "#424086", 4 "#3b528b", 5 "#33638d", 6 "#2c728e", 7 "#26828e", 8 "#21918c", 9 "#1fa088", 10 "#28ae80", 11 "#3fbc73", 12 "#5ec962", 13 "#84d44b", 14 "#addc30", 15 "#d8e219", 16 "#fde725")
unset key
set border 15
set multiplot
set lmargin at screen 0.09210526315789473
set rmargin at screen 0.306140350877193
set tmargin at screen 0.8743169398907104
set bmargin at screen 0.5464480874316939
set label "RoPE: zero" at screen 0.19912280701754384,0.889344262295082 front center font "sans-serif,12.5"
set xrange [-0.5:1.5]
set yrange [1.5:-0.5]
set xtics ("0–1" 0, "2–3" 1) out scale 0.5 offset 0,0 font "sans-serif,11.5"
set ytics ("all" 0, "1" 1) out scale 0.5 offset 0,0 font "sans-serif,11.5"
unset y2tics
set label "pairs (0: the fastest)" at screen 0.19912280701754384,0.4877049180327869 front center font "sans-serif,12.5"
set label "layer" at screen 0.02894736842105263,0.7103825136612022 front center rotate by 90 font "sans-serif,12.5"
set cbrange [0:0.125]
set colorbox vertical user origin screen 0.8868421052631579,0.5464480874316939 size screen 0.015789473684210527,0.32786885245901637 noborder
set cbtics out scale 0.4 font "sans-serif,11.5"
set label "change of the loss (nats per byte)" at screen 0.9815789473684211,0.7103825136612022 front center rotate by 90 font "sans-serif,12.5"
set label "0.562" at first 0,0 center front tc rgb "#000000" font "sans-serif,10.5"
set label "0.250" at first 1,0 center front tc rgb "#000000" font "sans-serif,10.5"
set label "0.125" at first 0,1 center front tc rgb "#000000" font "sans-serif,10.5"
plot $map0 using 1:2:3 with image pixels
unset label
unset arrow
unset object
set lmargin at screen 0.37192982456140344
set rmargin at screen 0.5859649122807017
set tmargin at screen 0.8743169398907104
set bmargin at screen 0.5464480874316939
set label "half: zero" at screen 0.4789473684210526,0.889344262295082 front center font "sans-serif,12.5"
set xrange [-0.5:1.5]
set yrange [1.5:-0.5]
set xtics ("0–1" 0, "2–3" 1) out scale 0.5 offset 0,0 font "sans-serif,11.5"
set ytics ("all" 0, "1" 1) out scale 0.5 offset 0,0 font "sans-serif,11.5"
unset y2tics
set label "pairs (0: the fastest)" at screen 0.4789473684210526,0.4877049180327869 front center font "sans-serif,12.5"
set cbrange [0:0.125]
unset colorbox
set label "0.562" at first 0,0 center front tc rgb "#000000" font "sans-serif,10.5"
set label "0.250" at first 1,0 center front tc rgb "#000000" font "sans-serif,10.5"
set label "0.125" at first 0,1 center front tc rgb "#000000" font "sans-serif,10.5"
plot $map1 using 1:2:3 with image pixels
unset label
unset arrow
unset object
set lmargin at screen 0.6517543859649123
set rmargin at screen 0.8657894736842106
set tmargin at screen 0.8743169398907104
set bmargin at screen 0.5464480874316939
set label "low theta: zero" at screen 0.7587719298245613,0.889344262295082 front center font "sans-serif,12.5"
set xrange [-0.5:1.5]
set yrange [1.5:-0.5]
set xtics ("0–1" 0, "2–3" 1) out scale 0.5 offset 0,0 font "sans-serif,11.5"
set ytics ("all" 0, "1" 1) out scale 0.5 offset 0,0 font "sans-serif,11.5"
unset y2tics
set label "pairs (0: the fastest)" at screen 0.7587719298245613,0.4877049180327869 front center font "sans-serif,12.5"
set label "" at screen 0.9315789473684211,0.7103825136612022 front center rotate by 90 font "sans-serif,12.5"
set cbrange [0:0.125]
unset colorbox
set label "0.562" at first 0,0 center front tc rgb "#000000" font "sans-serif,10.5"
set label "0.250" at first 1,0 center front tc rgb "#000000" font "sans-serif,10.5"
set label "0.125" at first 0,1 center front tc rgb "#000000" font "sans-serif,10.5"
plot $map2 using 1:2:3 with image pixels
unset label
unset arrow
unset object
set lmargin at screen 0.09210526315789473
set rmargin at screen 0.306140350877193
set tmargin at screen 0.4289617486338798
set bmargin at screen 0.10109289617486339
set label "\042; \140id\140 <script>_{\100a}%d: zero" at screen 0.19912280701754384,0.44398907103825136 front center font "sans-serif,12.5"
set xrange [-0.5:1.5]
set yrange [1.5:-0.5]
set xtics ("0–1" 0, "2–3" 1) out scale 0.5 offset 0,0 font "sans-serif,11.5"
set ytics ("all" 0, "1" 1) out scale 0.5 offset 0,0 font "sans-serif,11.5"
unset y2tics
set label "pairs (0: the fastest)" at screen 0.19912280701754384,0.042349726775956276 front center font "sans-serif,12.5"
set label "layer" at screen 0.02894736842105263,0.26502732240437155 front center rotate by 90 font "sans-serif,12.5"
set cbrange [0:0.125]
unset colorbox
set label "0.562" at first 0,0 center front tc rgb "#000000" font "sans-serif,10.5"
set label "0.250" at first 1,0 center front tc rgb "#000000" font "sans-serif,10.5"
set label "0.125" at first 0,1 center front tc rgb "#000000" font "sans-serif,10.5"
plot $map3 using 1:2:3 with image pixels
unset label
unset arrow
unset object
set lmargin at screen 0.37192982456140344
set rmargin at screen 0.5859649122807017
set tmargin at screen 0.4289617486338798
set bmargin at screen 0.10109289617486339
set label "NoPE: zero" at screen 0.4789473684210526,0.44398907103825136 front center font "sans-serif,12.5"
set xrange [-0.5:1.5]
set yrange [1.5:-0.5]
set xtics ("0–1" 0, "2–3" 1) out scale 0.5 offset 0,0 font "sans-serif,11.5"
set ytics ("all" 0, "1" 1) out scale 0.5 offset 0,0 font "sans-serif,11.5"
unset y2tics
set label "pairs (0: the fastest)" at screen 0.4789473684210526,0.042349726775956276 front center font "sans-serif,12.5"
set cbrange [0:0.125]
unset colorbox
set label "0.562" at first 0,0 center front tc rgb "#000000" font "sans-serif,10.5"
set label "0.250" at first 1,0 center front tc rgb "#000000" font "sans-serif,10.5"
set label "0.125" at first 0,1 center front tc rgb "#000000" font "sans-serif,10.5"
plot $map4 using 1:2:3 with image pixels
unset label
unset arrow
unset object
set lmargin at screen 0.6517543859649123
set rmargin at screen 0.8657894736842106
set tmargin at screen 0.4289617486338798
set bmargin at screen 0.10109289617486339
set label "ALiBi: zero" at screen 0.7587719298245613,0.44398907103825136 front center font "sans-serif,12.5"
set xrange [-0.5:1.5]
set yrange [1.5:-0.5]
set xtics ("0–1" 0, "2–3" 1) out scale 0.5 offset 0,0 font "sans-serif,11.5"
set ytics ("all" 0, "1" 1) out scale 0.5 offset 0,0 font "sans-serif,11.5"
unset y2tics
set label "pairs (0: the fastest)" at screen 0.7587719298245613,0.042349726775956276 front center font "sans-serif,12.5"
set label "" at screen 0.9315789473684211,0.26502732240437155 front center rotate by 90 font "sans-serif,12.5"
set cbrange [0:0.125]
unset colorbox
set label "0.562" at first 0,0 center front tc rgb "#000000" font "sans-serif,10.5"
set label "0.250" at first 1,0 center front tc rgb "#000000" font "sans-serif,10.5"
set label "0.125" at first 0,1 center front tc rgb "#000000" font "sans-serif,10.5"
plot $map5 using 1:2:3 with image pixels
unset multiplot
