/** The charts of a page as files. */
import type { ContentJson } from '../../base/text/content.js';
import type { Chart } from '../chart.js';
import type { HeatMap } from '../heat-map.js';
import type { PageContent } from '../messages.js';
import type { ParallelData } from '../parallel.js';
import { heatMapPicture } from './heat-map.js';
import { parallelPicture } from './parallel.js';
import { type Picture, svgFile } from './picture.js';
import { chartPicture } from './plot.js';

export interface ChartFile {
  readonly name: string;
  readonly title: string;
  /** Returns the content of the file. @param picture default: as the page first shows the chart */
  readonly svg: (picture?: Picture) => string;
}

type ChartData = Partial<Readonly<{ chart: Chart; map: HeatMap; parallel: ParallelData }>>;

const pictureOf = ({ chart, map, parallel }: ChartData): Picture =>
  chart ? chartPicture(chart) : map ? heatMapPicture(map) : parallelPicture(parallel!);

/** Maps the data of each chart that has values to the chart's file. @param taken names in use; new ones are added */
export function chartFiles(
  { sections, title: page }: Pick<PageContent<readonly ContentJson[]>, 'sections' | 'title'>,
  taken = new Set<string>(),
): ReadonlyMap<object, ChartFile> {
  const files = new Map<object, ChartFile>();
  // LaTeX can read file names of lower-case letters, digits and hyphens.
  const fileName = (...texts: readonly string[]) =>
    [page.replace(/^\d+ % /, '').split(': ', 1), ...texts]
      .join(' ')
      .toLowerCase()
      .match(/[a-z0-9]+/g)!
      .join('-')
      .slice(0, 110);
  for (const section of sections) {
    let heading = section.title;
    const walk = (shown: ContentJson) => {
      if (typeof shown !== 'object') return;
      const [tag, chartData, ...children] = shown;
      if (tag === 'h3') heading = `${section.title}: ${children.join('')}`;
      const { chart, map, parallel } = chartData as ChartData;
      const data = { 'chart-figure': chart, 'heat-map': map, 'parallel-plot': parallel }[tag];
      if (data !== undefined && chart?.at.length !== 0) {
        const title = heading;
        const own = taken.has(fileName(title)) ? fileName(title, chart?.y.title ?? '') : fileName(title);
        const name = [own, ...Array.from(taken, (_, i) => `${own}-${i + 2}`)].find((one) => !taken.has(one))!;
        taken.add(name);
        const svg = (picture = pictureOf(chartData)) => svgFile(title, picture);
        files.set(data, { name: `${name}.svg`, title, svg });
      } else children.forEach(walk);
    };
    section.content.forEach(walk);
  }
  return files;
}
