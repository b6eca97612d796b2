set terminal svg size 540,470 noenhanced font "sans-serif,13" background "#ffffff"
set encoding utf8
set border 3 lc rgb "#333333" lw 1
set tics out nomirror scale 0.6 textcolor rgb "#222222"
set label "s: austen/loss by θ and p" at screen 0.025925925925925925,0.948936170212766 front left font "sans-serif:Bold,15"
set label "Mean over 2 seeds. At the end of training. Framed: the best. White line: p* =" at screen 0.025925925925925925,0.9106382978723404 front left tc rgb "#666666" font "sans-serif,11.5"
set label "ln(L/2π) / ln θ. Blank: no value." at screen 0.025925925925925925,0.8765957446808511 front left tc rgb "#666666" font "sans-serif,11.5"
$map0 << EOD
0 0 3.0625
1 0 2.3125
2 0 2.0625
0 1 3.0625
1 1 2.8125
2 1 2.5625
EOD
set palette defined (0 "#440154", 1 "#48186a", 2 "#472d7b", 3 "#424086", 4 "#3b528b", 5 "#33638d", 6 "#2c728e", 7 "#26828e", 8 "#21918c", 9 "#1fa088", 10 "#28ae80", 11 "#3fbc73", 12 "#5ec962", 13 "#84d44b", 14 "#addc30", 15 "#d8e219", 16 "#fde725")
unset key
set border 15
set multiplot
set lmargin at screen 0.13156481481481483
set rmargin at screen 0.8111111111111111
set tmargin at screen 0.8382978723404255
set bmargin at screen 0.1574468085106383
set label "" at screen 0.471337962962963,0.8617021276595744 front center font "sans-serif,12.5"
set xrange [-0.5:2.5]
set yrange [1.5:-0.5]
set xtics ("0" 0, "0.5" 1, "1" 2) out scale 0.5 offset 0,0 font "sans-serif,11.5"
set ytics ("10k" 0, "100" 1) out scale 0.5 offset 0,0 font "sans-serif,11.5"
unset y2tics
set label "p (share of the frequencies kept)" at screen 0.471337962962963,0.06595744680851068 front center font "sans-serif,12.5"
set label "θ (base wavelength)" at screen 0.040740740740740744,0.49787234042553197 front center rotate by 90 font "sans-serif,12.5"
set label "" at screen 0.9037037037037037,0.49787234042553197 front center rotate by 90 font "sans-serif,12.5"
set arrow from 0.5040000528128861,-0.5 to 0.5040000528128861,-0.28 nohead front lw 4 dt 1 lc rgb "#000000"
set arrow from 0.5040000528128861,-0.5 to 0.5040000528128861,-0.28 nohead front lw 2 dt 1 lc rgb "#ffffff"
set arrow from 0.5040000528128861,0.28 to 0.5040000528128861,0.5 nohead front lw 4 dt 1 lc rgb "#000000"
set arrow from 0.5040000528128861,0.28 to 0.5040000528128861,0.5 nohead front lw 2 dt 1 lc rgb "#ffffff"
set arrow from 1.0080001056257721,0.5 to 1.0080001056257721,0.72 nohead front lw 4 dt 1 lc rgb "#000000"
set arrow from 1.0080001056257721,0.5 to 1.0080001056257721,0.72 nohead front lw 2 dt 1 lc rgb "#ffffff"
set arrow from 1.0080001056257721,1.28 to 1.0080001056257721,1.5 nohead front lw 4 dt 1 lc rgb "#000000"
set arrow from 1.0080001056257721,1.28 to 1.0080001056257721,1.5 nohead front lw 2 dt 1 lc rgb "#ffffff"
set object rectangle from 1.5,-0.5 to 2.5,0.5 front fs empty border lc rgb "#D55E00" lw 3
set cbrange [2.0625:3.0625]
set colorbox vertical user origin screen 0.8407407407407408,0.1574468085106383 size screen 0.022222222222222223,0.6808510638297872 noborder
set cbtics out scale 0.4 font "sans-serif,11.5"
set label "loss (nats per byte)" at screen 0.9740740740740741,0.49787234042553197 front center rotate by 90 font "sans-serif,12.5"
set label "3.06" at first 0,0 center front tc rgb "#000000" font "sans-serif,10.5"
set label "2.31" at first 1,0 center front tc rgb "#ffffff" font "sans-serif,10.5"
set label "2.06" at first 2,0 center front tc rgb "#ffffff" font "sans-serif,10.5"
set label "3.06" at first 0,1 center front tc rgb "#000000" font "sans-serif,10.5"
set label "2.81" at first 1,1 center front tc rgb "#000000" font "sans-serif,10.5"
set label "2.56" at first 2,1 center front tc rgb "#ffffff" font "sans-serif,10.5"
plot $map0 using 1:2:3 with image pixels
unset multiplot
