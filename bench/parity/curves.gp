# Two curves over each other, and how far they lie apart.
#   gnuplot -e "folder='DIR'; precision='float32'" bench/parity/curves.gp
set datafile separator tab
set key autotitle columnhead
set grid lc rgb "#bbbbbb"
set xrange [0:*]
set lmargin 10
do for [kind in "svg png"] {
  if (kind eq "svg") {
    set terminal svg size 760,560 font "sans,13" background rgb "white"
  } else {
    set terminal pngcairo size 760,560 font "sans,10"
  }
  set output sprintf("%s/parity-%s.%s", folder, precision, kind)
  set multiplot layout 2,1
  unset logscale
  set format y "%g"
  set ylabel "loss (nats a byte)"
  unset xlabel
  plot sprintf("%s/torch-%s.tsv", folder, precision) using 1:3 with lines lw 4 lc rgb "#f0b060" \
         title "PyTorch, ".precision, \
       sprintf("%s/gyre-%s.tsv", folder, precision) using 1:3 with lines lw 1 lc rgb "#1f4e9c" \
         title "Gyre, ".precision
  set logscale y
  set format y "10^{%T}"
  set ylabel "difference of the loss"
  set xlabel "step"
  # A difference of nothing has no place on this axis.
  plot sprintf("%s/gyre-%s-torch-%s.tsv", folder, precision, precision) using 1:($2 > 0 ? $2 : NaN) with points \
         pt 7 ps 0.3 lc rgb "#1f4e9c" notitle
  unset multiplot
  unset output
}
