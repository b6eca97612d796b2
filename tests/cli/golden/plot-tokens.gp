set terminal svg size 760,748 noenhanced font "sans-serif,13" background "#ffffff"
set encoding utf8
set border 3 lc rgb "#333333" lw 1
set tics out nomirror scale 0.6 textcolor rgb "#222222"
set label "s/RoPE: layer 0, head 0, token by token" at screen 0.018421052631578946,0.9679144385026738 front left font "sans-serif:Bold,15"
set label "The first tokens of one window, which begins with a document (token 0 is its start); norms before rotation; seed 0, after" at screen 0.018421052631578946,0.9438502673796791 front left tc rgb "#666666" font "sans-serif,11.5"
set label "step 2 (200 tokens)." at screen 0.018421052631578946,0.9224598930481284 front left tc rgb "#666666" font "sans-serif,11.5"
set label "Dashed: pairs below it never complete a turn within the context (64 tokens). ∞: not rotated." at screen 0.018421052631578946,0.02941176470588236 front left tc rgb "#666666" font "sans-serif,11.5"
$map0 << EOD
0 0 3
1 0 1
0 1 0.5
1 1 2
0 2 0.25
1 2 3
0 3 2
1 3 4
EOD
$map1 << EOD
0 0 1
1 0 1
0 1 1
1 1 2
0 2 1
1 2 3
0 3 4
1 3 4
EOD
$map2 << EOD
0 0 1
1 0 NaN
0 1 0.25
1 1 0.75
EOD
set palette defined (0 "#440154", 1 "#48186a", 2 "#472d7b", 3 "#424086", 4 "#3b528b", 5 "#33638d", 6 "#2c728e", 7 "#26828e", 8 "#21918c", 9 "#1fa088", 10 "#28ae80", 11 "#3fbc73", 12 "#5ec962", 13 "#84d44b", 14 "#addc30", 15 "#d8e219", 16 "#fde725")
unset key
set border 15
set multiplot
set lmargin at screen 0.09210526315789473
set rmargin at screen 0.29210526315789476
set tmargin at screen 0.8770053475935828
set bmargin at screen 0.5561497326203209
set label "queries" at screen 0.19210526315789472,0.8917112299465241 front center font "sans-serif,12.5"
set xrange [-0.5:1.5]
set yrange [3.5:-0.5]
set xtics ("0" 0, "1" 1) out scale 0.5 offset 0,0 font "sans-serif,11.5"
set ytics ("0" 0, "1" 1, "2" 2, "3" 3) out scale 0.5 offset 0,0 font "sans-serif,11.5"
set y2range [3.5:-0.5]
set y2tics ("10" 0.20182013164188498, "100" 1.2018201316418848, "1k" 2.201820131641885) out scale 0.5 font "sans-serif,11.5"
set label "token" at screen 0.19210526315789472,0.49866310160427807 front center font "sans-serif,12.5"
set label "frequency pair" at screen 0.02894736842105263,0.7165775401069518 front center rotate by 90 font "sans-serif,12.5"
set label "wavelength (tokens)" at screen 0.35789473684210527,0.7165775401069518 front center rotate by 90 font "sans-serif,12.5"
set arrow from -0.5,1.5 to 1.5,1.5 nohead front lw 2.6 dt 1 lc rgb "#ffffff"
set arrow from -0.5,1.5 to 1.5,1.5 nohead front lw 2 dt (5,4) lc rgb "#000000"
set cbrange [0:4]
set colorbox vertical user origin screen 0.39210526315789473,0.5561497326203209 size screen 0.015789473684210527,0.32085561497326204 noborder
set cbtics out scale 0.4 font "sans-serif,11.5"
set label "2-norm of the pair" at screen 0.4868421052631579,0.7165775401069518 front center rotate by 90 font "sans-serif,12.5"
plot $map0 using 1:2:3 with image pixels
unset label
unset arrow
unset object
set lmargin at screen 0.5842105263157895
set rmargin at screen 0.7842105263157895
set tmargin at screen 0.8770053475935828
set bmargin at screen 0.5561497326203209
set label "keys, head 0" at screen 0.6842105263157895,0.8917112299465241 front center font "sans-serif,12.5"
set xrange [-0.5:1.5]
set yrange [3.5:-0.5]
set xtics ("0" 0, "1" 1) out scale 0.5 offset 0,0 font "sans-serif,11.5"
set ytics ("0" 0, "1" 1, "2" 2, "3" 3) out scale 0.5 offset 0,0 font "sans-serif,11.5"
set y2range [3.5:-0.5]
set y2tics ("10" 0.20182013164188498, "100" 1.2018201316418848, "1k" 2.201820131641885) out scale 0.5 font "sans-serif,11.5"
set label "token" at screen 0.6842105263157895,0.49866310160427807 front center font "sans-serif,12.5"
set label "frequency pair" at screen 0.5210526315789473,0.7165775401069518 front center rotate by 90 font "sans-serif,12.5"
set label "wavelength (tokens)" at screen 0.85,0.7165775401069518 front center rotate by 90 font "sans-serif,12.5"
set arrow from -0.5,1.5 to 1.5,1.5 nohead front lw 2.6 dt 1 lc rgb "#ffffff"
set arrow from -0.5,1.5 to 1.5,1.5 nohead front lw 2 dt (5,4) lc rgb "#000000"
set cbrange [0:4]
set colorbox vertical user origin screen 0.8842105263157894,0.5561497326203209 size screen 0.015789473684210527,0.32085561497326204 noborder
set cbtics out scale 0.4 font "sans-serif,11.5"
set label "2-norm of the pair" at screen 0.9789473684210527,0.7165775401069518 front center rotate by 90 font "sans-serif,12.5"
plot $map1 using 1:2:3 with image pixels
unset label
unset arrow
unset object
set lmargin at screen 0.09210526315789473
set rmargin at screen 0.29210526315789476
set tmargin at screen 0.4411764705882353
set bmargin at screen 0.23796791443850263
set label "attention" at screen 0.19210526315789472,0.4558823529411765 front center font "sans-serif,12.5"
set xrange [-0.5:1.5]
set yrange [1.5:-0.5]
set xtics ("0" 0, "1" 1) out scale 0.5 offset 0,0 font "sans-serif,11.5"
set ytics ("0" 0, "1" 1) out scale 0.5 offset 0,0 font "sans-serif,11.5"
unset y2tics
set label "key (token)" at screen 0.19210526315789472,0.18048128342245995 front center font "sans-serif,12.5"
set label "query (token)" at screen 0.02894736842105263,0.339572192513369 front center rotate by 90 font "sans-serif,12.5"
set label "" at screen 0.35789473684210527,0.339572192513369 front center rotate by 90 font "sans-serif,12.5"
set cbrange [0:1]
set colorbox vertical user origin screen 0.39210526315789473,0.23796791443850263 size screen 0.015789473684210527,0.20320855614973263 noborder
set cbtics out scale 0.4 font "sans-serif,11.5"
set label "attention weight" at screen 0.4868421052631579,0.339572192513369 front center rotate by 90 font "sans-serif,12.5"
plot $map2 using 1:2:3 with image pixels
unset multiplot
