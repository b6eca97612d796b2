set terminal svg size 760,494 noenhanced font "sans-serif,13" background "#ffffff"
set encoding utf8
set border 3 lc rgb "#333333" lw 1
set tics out nomirror scale 0.6 textcolor rgb "#222222"
set label "s: austen/loss by context" at screen 0.018421052631578946,0.951417004048583 front left font "sans-serif:Bold,15"
set label "Mean over 2 seeds; bar: lowest to highest seed. At the end of training." at screen 0.018421052631578946,0.9149797570850202 front left tc rgb "#666666" font "sans-serif,11.5"
set label "No document has 128 tokens: values there are of shorter windows." at screen 0.018421052631578946,0.04453441295546556 front left tc rgb "#666666" font "sans-serif,11.5"
$line0 << EOD
58.68825876509896 2.0625 2 2.125
117.37651753019792 2.5625 2.5 2.625
EOD
$line1 << EOD
60.75789574083323 2.3125 2.25 2.375
121.51579148166645 2.8125 2.75 2.875
EOD
$line2 << EOD
62.90051830689607 2.5625 2.5 2.625
125.80103661379214 3.0625 3 3.125
EOD
$line3 << EOD
65.11870029457192 2.8125 2.75 2.875
130.23740058914385 3.3125 3.25 3.375
EOD
$line4 << EOD
67.41510630110949 3.0625 3 3.125
134.83021260221898 3.5625 3.5 3.625
EOD
$line5 << EOD
69.79249489057649 3.3125 3.25 3.375
139.58498978115298 3.8125 3.75 3.875
EOD
set lmargin at screen 0.10526315789473684
set rmargin at screen 0.6923684210526316
set tmargin at screen 0.8502024291497976
set bmargin at screen 0.18218623481781382
set xlabel "context at evaluation (tokens)" offset 0,0.4
set grid ytics lc rgb "#dddddd" lw 0.6 dt 1
set logscale x 2
set xtics ("64" 64, "128" 128)
set xrange [50.596442562694065:161.90861620062103]
set arrow from first 64, graph 0 to first 64, graph 1 nohead lw 1.2 dt (6,4) lc rgb "#444444" back
set label "training context" at first 64, graph 1 center offset 0,0.7 front tc rgb "#444444" font "sans-serif,11.5"
set label "loss (nats per byte)" at screen 0.02631578947368421,0.5161943319838056 front center rotate by 90
set key at screen 0.7081578947368422,0.8502024291497976 left top Left reverse samplen 2.6 spacing 1.2 width 0 font "sans-serif,12"
plot $line5 using 1:2:3:4 with yerrorbars pt -1 lw 1.4 lc rgb "#E69F00" notitle, \
  $line4 using 1:2:3:4 with yerrorbars pt -1 lw 1.4 lc rgb "#CC79A7" notitle, \
  $line3 using 1:2:3:4 with yerrorbars pt -1 lw 1.4 lc rgb "#009E73" notitle, \
  $line2 using 1:2:3:4 with yerrorbars pt -1 lw 1.4 lc rgb "#D55E00" notitle, \
  $line1 using 1:2:3:4 with yerrorbars pt -1 lw 1.4 lc rgb "#0072B2" notitle, \
  $line0 using 1:2:3:4 with yerrorbars pt -1 lw 1.4 lc rgb "#000000" notitle, \
  $line5 using 1:2 with linespoints lc rgb "#E69F00" lw 2 dt 1 pt 4 ps 0.8 pi 1 title "ALiBi", \
  $line4 using 1:2 with linespoints lc rgb "#CC79A7" lw 2 dt (12,4,3,4) pt 13 ps 0.8 pi 1 title "NoPE", \
  $line3 using 1:2 with linespoints lc rgb "#009E73" lw 2 dt (4,4) pt 11 ps 0.8 pi 1 title "\042; \140id\140 <script>_{\100a}%d", \
  $line2 using 1:2 with linespoints lc rgb "#D55E00" lw 2 dt (12,5) pt 9 ps 0.8 pi 1 title "low theta", \
  $line1 using 1:2 with linespoints lc rgb "#0072B2" lw 2 dt 1 pt 5 ps 0.8 pi 1 title "half", \
  $line0 using 1:2 with linespoints lc rgb "#000000" lw 2.6 dt 1 pt 7 ps 0.7 pi 1 title "RoPE"
