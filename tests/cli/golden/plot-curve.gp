set terminal svg size 760,466 noenhanced font "sans-serif,13" background "#ffffff"
set encoding utf8
set border 3 lc rgb "#333333" lw 1
set tics out nomirror scale 0.6 textcolor rgb "#222222"
set label "s: austen/loss_sample by tokens" at screen 0.018421052631578946,0.9484978540772532 front left font "sans-serif:Bold,15"
set label "Mean over 2 seeds; band: lowest to highest seed." at screen 0.018421052631578946,0.9098712446351931 front left tc rgb "#666666" font "sans-serif,11.5"
$line0 << EOD
0 4.0625 4 4.125
100 3.0625 3 3.125
200 2.0625 2 2.125
EOD
$line1 << EOD
0 4.3125 4.25 4.375
100 3.3125 3.25 3.375
200 2.3125 2.25 2.375
EOD
$line2 << EOD
0 4.5625 4.5 4.625
100 3.5625 3.5 3.625
200 2.5625 2.5 2.625
EOD
$line3 << EOD
0 4.8125 4.75 4.875
100 3.8125 3.75 3.875
200 2.8125 2.75 2.875
EOD
$line4 << EOD
0 5.0625 5 5.125
100 4.0625 4 4.125
200 3.0625 3 3.125
EOD
$line5 << EOD
0 5.3125 5.25 5.375
100 4.3125 4.25 4.375
200 3.3125 3.25 3.375
EOD
set lmargin at screen 0.10526315789473684
set rmargin at screen 0.6923684210526316
set tmargin at screen 0.8669527896995708
set bmargin at screen 0.15879828326180256
set xlabel "tokens trained" offset 0,0.4
set grid ytics lc rgb "#dddddd" lw 0.6 dt 1
set xtics ("0" 0, "50" 50, "100" 100, "150" 150, "200" 200)
set xrange [0:200]
set label "loss (nats per byte)" at screen 0.02631578947368421,0.5128755364806867 front center rotate by 90
set key at screen 0.7081578947368422,0.8669527896995708 left top Left reverse samplen 2.6 spacing 1.2 width 0 font "sans-serif,12"
plot $line5 using 1:3:4 with filledcurves fs transparent solid 0.18 noborder lc rgb "#E69F00" notitle, \
  $line4 using 1:3:4 with filledcurves fs transparent solid 0.18 noborder lc rgb "#CC79A7" notitle, \
  $line3 using 1:3:4 with filledcurves fs transparent solid 0.18 noborder lc rgb "#009E73" notitle, \
  $line2 using 1:3:4 with filledcurves fs transparent solid 0.18 noborder lc rgb "#D55E00" notitle, \
  $line1 using 1:3:4 with filledcurves fs transparent solid 0.18 noborder lc rgb "#0072B2" notitle, \
  $line0 using 1:3:4 with filledcurves fs transparent solid 0.18 noborder lc rgb "#000000" notitle, \
  $line5 using 1:2 with linespoints lc rgb "#E69F00" lw 2 dt 1 pt 4 ps 0.8 pi 1 title "ALiBi", \
  $line4 using 1:2 with linespoints lc rgb "#CC79A7" lw 2 dt (12,4,3,4) pt 13 ps 0.8 pi 1 title "NoPE", \
  $line3 using 1:2 with linespoints lc rgb "#009E73" lw 2 dt (4,4) pt 11 ps 0.8 pi 1 title "\042; \140id\140 <script>_{\100a}%d", \
  $line2 using 1:2 with linespoints lc rgb "#D55E00" lw 2 dt (12,5) pt 9 ps 0.8 pi 1 title "low theta", \
  $line1 using 1:2 with linespoints lc rgb "#0072B2" lw 2 dt 1 pt 5 ps 0.8 pi 1 title "half", \
  $line0 using 1:2 with linespoints lc rgb "#000000" lw 2.6 dt 1 pt 7 ps 0.7 pi 1 title "RoPE"
