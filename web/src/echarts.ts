// The parts of Apache ECharts that the report draws with; everything else stays out of the bundle.

import { BarChart, BoxplotChart, LineChart } from "echarts/charts";
import {
  GridComponent,
  LegendComponent,
  LegendScrollComponent,
  MarkAreaComponent,
  MarkLineComponent,
  TooltipComponent,
} from "echarts/components";
import { init, use } from "echarts/core";
import { LabelLayout } from "echarts/features";
import type { ECharts, EChartsCoreOption } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";

use([
  BarChart,
  BoxplotChart,
  LineChart,
  GridComponent,
  LegendComponent,
  LegendScrollComponent,
  LabelLayout,
  MarkAreaComponent,
  MarkLineComponent,
  TooltipComponent,
  SVGRenderer,
]);

export { init };
export type { ECharts, EChartsCoreOption };
