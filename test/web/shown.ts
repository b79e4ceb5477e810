/** What a page shows, read from its data. */
import { type Content, type ContentJson, childrenOf } from '../../src/base/text/content.js';
import type { TableData } from '../../src/base/text/table-data.js';
import type { Chart } from '../../src/web/chart.js';
import type { HeatMap } from '../../src/web/heat-map.js';
import type { PageContent } from '../../src/web/messages.js';
import { type Page, pageData } from '../../src/web/page.js';

/** A page as the app gets it. */
export type SentPage = PageContent<readonly ContentJson[]>;

const sent = <T>(value: unknown) => JSON.parse(JSON.stringify(value)) as T;

/** The page in a file. */
export const pageIn = (file: string): SentPage =>
  JSON.parse(/<script type="application\/json" id="page">(.*?)<\/script>/s.exec(file)![1]!) as SentPage;

export const sentPage = (page: Page): SentPage => sent(pageData(page));

const inOrder = ({ footer, header, sections }: SentPage): readonly ContentJson[] => [
  ...header,
  ...sections.flatMap(({ content, id, title }): ContentJson[] => [['section', { id }], title, ...content]),
  ...footer,
];

type Given = string | SentPage | { readonly part: Content };

const shownIn = (given: Given): readonly ContentJson[] =>
  typeof given === 'string'
    ? inOrder(pageIn(given))
    : 'part' in given
      ? sent(childrenOf(given.part))
      : inOrder(given);

interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** All parts, and the links in tables. */
export function elementsOf(given: Given): readonly Element[] {
  const walk = (shown: ContentJson): readonly Element[] => {
    if (typeof shown !== 'object') return [];
    const [name, props, ...children] = shown;
    const links =
      name === 'data-table'
        ? (props as unknown as TableData).rows.flat().flatMap(({ href }) => href ?? [])
        : [];
    return [
      { name, attributes: props as Record<string, string> },
      ...links.map((href) => ({ name: 'a', attributes: { href } })),
      ...children.flatMap(walk),
    ];
  };
  return shownIn(given).flatMap(walk);
}

/** The text that a reader sees, parts separated by spaces. */
export const visibleText = (given: Given): string => collapse(textOf(shownIn(given)));

const textOf = (all: readonly ContentJson[]): string =>
  all.map((shown) => (typeof shown === 'object' ? ` ${textOfPart(shown)} ` : shown)).join('');

function textOfPart([name, props, ...children]: Exclude<ContentJson, string | number>): string {
  switch (name) {
    case 'data-table': {
      const { columns, rows } = props as unknown as TableData;
      const cells = rows.flat().flatMap(({ detail = '', text }) => [text, detail]);
      return [...columns.map(({ spoken, title }) => title || spoken), ...cells].join(' ');
    }
    case 'proposal-log':
      return `${[props.counts].flat(3).join(' ')} ${textOf(children)}`;
    default: {
      const { alt, chart, left, length, map, right, source } = props as Readonly<Record<string, string>> & {
        readonly chart?: Chart;
        readonly map?: HeatMap;
      };
      const own = [alt, chart?.label, map?.label, left, right, length && `Prompt ${length}`, source];
      return `${own.flatMap((text) => text ?? []).join(' ')} ${textOf(children)}`;
    }
  }
}

/** Runs of spaces and line breaks as one space, as a browser shows them. */
export function collapse(text: string): string {
  return text.replace(/[ \t\r\n]+/g, ' ');
}

const propsOf = (given: Given, tag: string, prop: string) =>
  elementsOf(given).flatMap(({ attributes, name }) => (name === tag ? attributes[prop] : []) as never[]);

export const chartsIn = (given: Given): readonly Chart[] => propsOf(given, 'chart-figure', 'chart');

export const chartIn = (given: Given): Chart => chartsIn(given)[0]!;

export const heatMapIn = (given: Given): HeatMap => propsOf(given, 'heat-map', 'map')[0]!;
