set terminal svg size 760,498 noenhanced font "sans-serif,13" background "#ffffff"
set encoding utf8
set border 3 lc rgb "#333333" lw 1
set tics out nomirror scale 0.6 textcolor rgb "#222222"
set label "s: austen/loss by p" at screen 0.018421052631578946,0.9518072289156626 front left font "sans-serif:Bold,15"
set label "Mean over 2 seeds; bar: 95% interval of the mean (Student\047s t over seeds). Circles: single seeds. At the end of training." at screen 0.018421052631578946,0.9156626506024097 front left tc rgb "#666666" font "sans-serif,11.5"
set label "Not a part of any series over p: ALiBi." at screen 0.018421052631578946,0.07630522088353409 front left tc rgb "#666666" font "sans-serif,11.5"
set label "Dashed: p* = ln(L/2π) / ln θ, the share of the pairs that complete a turn within the training context L." at screen 0.018421052631578946,0.04417670682730923 front left tc rgb "#666666" font "sans-serif,11.5"
$line0 << EOD
-0.0125 3.0625 2.268362203989081 3.856637796010919
0.4875 2.3125 1.518362203989081 3.106637796010919
0.9875 2.0625 1.268362203989081 2.856637796010919
EOD
$dots0 << EOD
-0.0125 3
-0.0125 3.125
0.4875 2.25
0.4875 2.375
0.9875 2
0.9875 2.125
EOD
$line1 << EOD
0.0125 3.0625 2.268362203989081 3.856637796010919
0.5125 2.8125 2.018362203989081 3.606637796010919
1.0125 2.5625 1.768362203989081 3.356637796010919
EOD
$dots1 << EOD
0.0125 3
0.0125 3.125
0.5125 2.75
0.5125 2.875
1.0125 2.5
1.0125 2.625
EOD
set lmargin at screen 0.10526315789473684
set rmargin at screen 0.7293157894736841
set tmargin at screen 0.8755020080321285
set bmargin at screen 0.21285140562248994
set xlabel "p (share of the frequencies kept)" offset 0,0.4
set grid ytics lc rgb "#dddddd" lw 0.6 dt 1
set xrange [-0.03:1.03]
set arrow from first 0.25200002640644303, graph 0 to first 0.25200002640644303, graph 1 nohead lw 1.2 dt (6,4) lc rgb "#0072B2" back
set arrow from first 0.5040000528128861, graph 0 to first 0.5040000528128861, graph 1 nohead lw 1.2 dt (6,4) lc rgb "#D55E00" back
set label "loss (nats per byte)" at screen 0.02631578947368421,0.5441767068273092 front center rotate by 90
set key at screen 0.7451052631578947,0.8755020080321285 left top Left reverse samplen 2.6 spacing 1.2 width 0 font "sans-serif,12"
plot $dots1 using 1:2 with points pt 6 ps 0.5 lw 0.8 lc rgb "#D55E00" notitle, \
  $line1 using 1:2:3:4 with yerrorbars pt -1 lw 1.4 lc rgb "#D55E00" notitle, \
  $dots0 using 1:2 with points pt 6 ps 0.5 lw 0.8 lc rgb "#0072B2" notitle, \
  $line0 using 1:2:3:4 with yerrorbars pt -1 lw 1.4 lc rgb "#0072B2" notitle, \
  $line1 using 1:2 with linespoints lc rgb "#D55E00" lw 2 dt (12,5) pt 9 ps 0.8 pi 1 title "theta=100 (p* = 0.50)", \
  $line0 using 1:2 with linespoints lc rgb "#0072B2" lw 2 dt 1 pt 5 ps 0.8 pi 1 title "theta=10k (p* = 0.25)"
