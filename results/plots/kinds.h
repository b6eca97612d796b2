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

/// Norms of the frequency pairs by layer, or by head of one layer.
Result<Plot> MakeFrequenciesPlot(const PlotOptions& options, const PlottedSweep& sweep,
                                 const AskSql& ask);

/// The same of the pairs' exact shares of the logits.
Result<Plot> MakeContributionsPlot(const PlotOptions& options, const PlottedSweep& sweep,
                                   const AskSql& ask);

/// Norms of one head's pairs token by token, beside its attention.
Result<Plot> MakeTokensPlot(const PlotOptions& options, const PlottedSweep& sweep,
                            const AskSql& ask);

/// What bands of frequencies are worth, by band and layer.
Result<Plot> MakeInterventionsPlot(const PlotOptions& options, const PlottedSweep& sweep,
                                   const AskSql& ask);

/// The census of heads.
Result<Plot> MakeHeadsPlot(const PlotOptions& options, const PlottedSweep& sweep,
                           const AskSql& ask);

}  // namespace gyre
