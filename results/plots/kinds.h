#pragma once

// One function a kind of plot. Errors as MakePlot() has them.

#include "results/plots/plotted_sweep.h"

namespace gyre {

using PlotMaker = Result<Plot> (*)(const PlotOptions&, const PlottedSweep&, const AskSql&);

/// A metric by tokens, a line a variant.
Result<Plot> MakeCurvePlot(const PlotOptions& options, const PlottedSweep& sweep,
                           const AskSql& ask);

/// Loss by place in the window.
Result<Plot> MakePositionsPlot(const PlotOptions& options, const PlottedSweep& sweep,
                               const AskSql& ask);

/// Loss at and beyond the training context.
Result<Plot> MakeContextsPlot(const PlotOptions& options, const PlottedSweep& sweep,
                              const AskSql& ask);

/// Loss against p.
Result<Plot> MakePPlot(const PlotOptions& options, const PlottedSweep& sweep, const AskSql& ask);

/// Loss by theta and p.
Result<Plot> MakeGridPlot(const PlotOptions& options, const PlottedSweep& sweep, const AskSql& ask);

}  // namespace gyre
