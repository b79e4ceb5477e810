import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import yargs from 'yargs';
import { schemaJson } from '../scripts/reference.js';
import { circles, fileGraph, folderGraph, readModules } from '../scripts/shape/module-graph.js';
import { commands } from '../src/commands.js';
import { experimentKind } from '../src/config/config.js';

const root = resolve(import.meta.dirname, '..');
const modules = readModules(root, ['src', 'finetune']);

/** The layers of `src`, from the ground up: each imports only layers before it, types included. */
const layers = [
  ...'base statistics environments policies rollout models prompting config runs proposers'.split(' '),
  ...'experiment web studies agents view mcp commands'.split(' '),
];

/** The layers of `finetune`, which may import all of `src` except its commands. */
const fineTuningLayers = ['engine', 'dataset', 'train', 'export', 'rl', 'evaluate', 'commands'];

/** Entry points: they may import anything, and nothing imports them. */
const entries = ['src/index.ts', 'src/commands.ts', 'src/cli.ts', 'finetune/index.ts', 'finetune/cli.ts'];

/** `src/models/local/settings.ts` belongs to the layer `models`. */
const layerOf = (path: string) => path.split('/')[1]!;

function mayImport(from: string, to: string): boolean {
  if (entries.includes(from)) return true;
  if (entries.includes(to)) return false;
  const order = from.startsWith('src/') ? layers : fineTuningLayers;
  if (from.split('/')[0] !== to.split('/')[0]) {
    return from.startsWith('finetune/') && layerOf(to) !== 'commands';
  }
  return order.indexOf(layerOf(to)) <= order.indexOf(layerOf(from));
}

describe('the order of folders in src and finetune', () => {
  it('includes the top-level folder of every module', () => {
    const all = modules.filter(({ path }) => !entries.includes(path));
    const unknown = all.filter(
      ({ path }) => !(path.startsWith('src/') ? layers : fineTuningLayers).includes(layerOf(path)),
    );
    expect(unknown.map(({ path }) => path)).toEqual([]);
  });

  it('is respected by every import, even of types', () => {
    const offending = modules.flatMap(({ path, imports }) =>
      imports.filter((target) => !mayImport(path, target)).map((target) => `${path} → ${target}`),
    );
    expect(offending).toEqual([]);
  });

  it('lets only entry points import commands', () => {
    const isCommand = (path: string) => /^(src|finetune)\/commands\//.test(path);
    const offending = modules
      .filter(({ path }) => !entries.includes(path))
      .flatMap(({ path, imports }) => imports.filter(isCommand).map((target) => `${path} → ${target}`));
    expect(offending).toEqual([]);
  });
});

describe('import cycles', () => {
  it("don't exist between files of src and finetune, even among imports of types", () => {
    expect(circles(fileGraph(modules))).toEqual([]);
  });

  it("don't exist between folders of src and finetune, even among imports of types", () => {
    expect(circles(folderGraph(modules))).toEqual([]);
  });

  it('are found in a graph that contains a cycle', () => {
    const graph = new Map([
      ['a', new Set(['b'])],
      ['b', new Set(['c'])],
      ['c', new Set(['a'])],
      ['d', new Set(['a'])],
    ]);
    expect(circles(graph)).toEqual([['a', 'b', 'c']]);
  });
});

it('design.md lists the top-level folders of src and finetune in order, one per line', () => {
  const design = readFileSync(join(root, 'docs', 'explanation', 'design.md'), 'utf8');
  const tree = design.slice(design.indexOf('## The tree')).split('```')[1]!;
  const drawn = (folder: string) => {
    const lines = tree.split(new RegExp(`^${folder}/$`, 'm'))[1]!.split(/^\S/m)[0]!;
    return [...lines.matchAll(/^ {2}(\S+)/gm)].map(([, name]) => name!);
  };
  expect(drawn('src')).toEqual([...layers.map((layer) => `${layer}/`), 'index.ts', 'commands.ts', 'cli.ts']);
  expect(drawn('finetune')).toEqual([...fineTuningLayers.map((layer) => `${layer}/`), 'index.ts', 'cli.ts']);
});

it('every folder of src, finetune and test has at most 20 files, apart from fixtures', () => {
  const folders = ['src', 'finetune', 'test'].flatMap((top) => [
    top,
    ...readdirSync(join(root, top), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
      .filter((folder) => !folder.includes('fixtures')),
  ]);
  const crowded = folders.filter(
    (folder) =>
      readdirSync(join(root, folder), { withFileTypes: true }).filter((entry) => entry.isFile()).length > 20,
  );
  expect(crowded).toEqual([]);
});

describe('only the allowed files of src and finetune use', () => {
  it.each([
    [
      'process.env and process.argv',
      /process\.(env|argv)\b/,
      /^src\/(cli|index|base\/child-environment|models\/local\/(engine\/onnx-runtime|stores\/hf-cache))\.ts$/,
    ],
    ['process.exit and process.exitCode', /process\.(exit\(|exitCode)/, /^src\/cli\.ts$/],
    // A page in a browser has the browser's clock.
    ['the time of day', /\bDate\.now\(|new Date\(\)/, /^src\/(cli|index|web\/app\/.*)\.ts$/],
    ['NodeJS.WriteStream, a type that users may lack', /NodeJS\.W/, /^src\/(cli|base\/text\/progress)\.ts$/],
    // Programs get a seeded Math.random in their sandbox.
    ['Math.random', /Math\.random/, /^src\/policies\/program\/prelude\.ts$/],
  ])('%s', (_name, pattern, place) => {
    const offending = modules.filter(({ path, text }) => pattern.test(text) && !place.test(path));
    expect(offending.map(({ path }) => path)).toEqual([]);
  });
});

/** Budgets that issues set. A budget falls with each deletion, and rises only by the amount that an issue allows. */
describe('budgets', () => {
  /** Lines of the files in these folders whose path matches. */
  const linesOf = (folders: readonly string[], pattern = /./) =>
    folders
      .flatMap((folder) => readdirSync(join(root, folder), { recursive: true, withFileTypes: true }))
      .map((entry) => ({ entry, path: join(entry.parentPath, entry.name) }))
      .filter(({ entry, path }) => entry.isFile() && pattern.test(path.slice(root.length)))
      .reduce((sum, { path }) => sum + readFileSync(path, 'utf8').split('\n').length - 1, 0);

  /** Number of keys in all `properties` of a JSON schema. */
  const propertiesIn = (node: unknown): number => {
    if (typeof node !== 'object' || node === null) return 0;
    const { properties } = node as { readonly properties?: object };
    const own = Array.isArray(node) ? 0 : Object.keys(properties ?? {}).length;
    return Object.values(node).reduce<number>((sum, child) => sum + propertiesIn(child), own);
  };

  it('allow 79,850 lines in src and finetune', () => {
    expect(linesOf(['src', 'finetune'])).toBeLessThanOrEqual(79_850);
  });

  it('allow 50,800 lines of TypeScript in test', () => {
    expect(linesOf(['test'], /\.ts$/)).toBeLessThanOrEqual(50_800);
  });

  it('allow 7,000 lines in scripts and bench, not counting the recorded rows', () => {
    expect(linesOf(['scripts', 'bench'], /^(?!.*\/rows\/)/)).toBeLessThanOrEqual(7_000);
  });

  it('allow 28 required runtime dependencies', () => {
    const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      readonly dependencies: Readonly<Record<string, string>>;
    };
    expect(Object.keys(dependencies).length).toBeLessThanOrEqual(28);
  });

  it('allow 376 properties in configs/schema.json', () => {
    expect(propertiesIn(JSON.parse(schemaJson(experimentKind.json, 'config')))).toBeLessThanOrEqual(376);
  });

  const single = commands.flatMap(([signature, describe, load]) =>
    typeof load === 'function'
      ? [[signature, describe, load] as const]
      : load.map(([part, ...rest]) => [`${signature} ${part}`, ...rest] as const),
  );

  it('allow 27 commands', () => {
    expect(single.length).toBeLessThanOrEqual(27);
  });

  it.each(single)(
    'limit the help of %s to 50 lines at a width of 80 columns',
    async (_signature, _describe, load) => {
      const { options } = await load();
      const help = await options(yargs([]).wrap(80)).getHelp();
      expect(help.split('\n').length).toBeLessThanOrEqual(50);
    },
  );
});
