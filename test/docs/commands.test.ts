/** Commands in the README, in `docs/` and in the comments of configs exist, with their options, configs and keys. */
import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadRlKind } from '../../finetune/rl/kinds/kinds.js';
import { loadTrainConfig } from '../../finetune/train/train-config.js';
import { loadPlayConfig } from '../../src/agents/play-config.js';
import { moveOverridesFirst } from '../../src/base/overrides-apart.js';
import { commands, declaredOptions, findCommand } from '../../src/commands.js';
import { type ConfigKindName, configKindOf, openConfig } from '../../src/config/file.js';
import { loadConfig } from '../../src/config/load.js';
import {
  type Block,
  blocksOf,
  commandsOf,
  commentBlock,
  configs,
  isShell,
  pages,
  policyloopWords,
  readBlocks,
  root,
} from './blocks.js';

const kindOf: Readonly<Record<string, ConfigKindName>> = {
  play: 'agents',
  train: 'training',
  rl: 'rl',
  trl: 'training',
};

/** Reads a file that the page asks its reader to write, or else the file on disk. */
const reader = (files: ReadonlyMap<string, string>) => (path: string) =>
  files.get(basename(path)) ?? readFileSync(path, 'utf8');

/** Loaders read from the disk. Of files that a page asks its reader to write, `openConfig` checks only the keys. */
const loaders = {
  agents: loadPlayConfig,
  training: loadTrainConfig,
  rl: async (config: string, overrides: readonly string[], cwd: string) =>
    (await loadRlKind(config, cwd)).load(config, overrides, cwd),
};

async function checkConfig(
  name: string,
  config: string,
  overrides: readonly string[],
  files: ReadonlyMap<string, string>,
  cwd: string,
) {
  // A shell finds files by it.
  if (config.includes('*')) return;
  const options = { cwd, readFile: reader(files) };
  const kind = name === 'check' ? configKindOf(config, root) : (kindOf[name] ?? 'experiment');
  // Those of a sweep are lists: a run for each value.
  if (kind === 'experiment')
    loadConfig({ file: config, overrides: name === 'sweep' ? [] : overrides, ...options });
  else if (files.has(basename(config))) openConfig(kind, config, options);
  else await loaders[kind](config, overrides, cwd);
}

/** The error in a command line, as its reader would see it; undefined if there is none. */
async function problemOf(
  given: readonly string[],
  files: ReadonlyMap<string, string>,
  cwd: string,
): Promise<string | undefined> {
  if (given[0]?.startsWith('-') || given[0] === 'completion') return undefined;
  const named = findCommand(given).command;
  if (named === undefined) return 'no such command';
  const declared = await declaredOptions(named);
  const isGroup = Array.isArray(commands.find(([name]) => name === given[0])?.[2]);
  const args = moveOverridesFirst(given.slice(isGroup ? 2 : 1), declared);
  const strange = args.find(
    (word) => word.startsWith('--') && !(word.slice(2).split('=')[0]! in declared.key),
  );
  if (strange !== undefined) return `no option ${strange}`;
  const firstOption = args.findIndex((word) => word.startsWith('-'));
  const places = named[0].split(' ').slice(1);
  const words = args.slice(0, firstOption === -1 ? undefined : firstOption);
  const isOverride = (word: string) => /^[A-Za-z][\w.]*=/.test(word);
  const overrides = words.filter(isOverride);
  const free = words.filter((word) => !isOverride(word));
  const needed = places.filter((place) => place.startsWith('<')).length;
  if (free.length < needed && firstOption === -1) return `${needed} words are needed: ${named[0]}`;
  const name = given[isGroup ? 1 : 0]!;
  const listed = given.includes('--configs') ? given.slice(given.indexOf('--configs') + 1) : [];
  const ends = listed.findIndex((word) => word.startsWith('--') || isOverride(word));
  const configs = /^<configs/.test(places[0] ?? '')
    ? free
    : /^<config>/.test(places[0] ?? '') && name !== 'import'
      ? free.slice(0, 1)
      : /^<config>/.test(places[1] ?? '')
        ? free.slice(1, 2)
        : listed.slice(0, ends === -1 ? undefined : ends);
  try {
    for (const config of configs) await checkConfig(name, config, overrides, files, cwd);
  } catch (error) {
    return (error as Error).message;
  }
  return undefined;
}

/** `npm run x`, `npm x`: a script of the package. */
function npmProblem(command: string): string | undefined {
  const script = /^npm run ([\w:-]+)/.exec(command)?.[1];
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object };
  return script === undefined || script in scripts ? undefined : `no script ${script}`;
}

async function problemsIn(blocks: readonly Block[], cwd = '/page'): Promise<readonly string[]> {
  const files = new Map(
    blocks.flatMap(({ file, code }) => (file === undefined ? [] : [[file, code] as const])),
  );
  const problems: string[] = [];
  for (const block of blocks.filter(isShell)) {
    for (const command of [...block.first, ...commandsOf(block)]) {
      const words = policyloopWords(command);
      const problem = words === undefined ? npmProblem(command) : await problemOf(words, files, cwd);
      if (problem !== undefined) problems.push(`${block.page}:${block.line} ${command}: ${problem}`);
    }
  }
  return problems;
}

describe('documented commands of policyloop and npm', () => {
  it.each(pages)('exist, with their --options and configs: %s', async (page) => {
    expect(await problemsIn(readBlocks(page))).toEqual([]);
  });

  it.each(configs)('exist, with their --options and configs: comment of %s', async (config) => {
    const block = commentBlock(config);
    // Tasks of an example aren't run by themselves.
    expect(block.code === '').toBe(config.includes('tasks/'));
    expect(await problemsIn([block], join(root, dirname(config)))).toEqual([]);
  });

  it("have a stated reason if they aren't run", () => {
    const blocks = pages.flatMap(readBlocks).filter(isShell);
    expect(blocks.length).toBeGreaterThan(30);
    const unexplained = blocks.filter(({ notRun }) => notRun !== undefined && notRun.split(' ').length < 2);
    expect(unexplained).toEqual([]);
    expect(blocks.filter(({ notRun }) => notRun === undefined).length).toBeGreaterThan(blocks.length / 2);
  });

  it('are reported with page, line and command if they are wrong', async () => {
    const page = [
      '<!-- file: a.yaml -->',
      '```yaml\nenvironment: CartPole-v1\nmodel: { provider: random }\n```',
      '<!-- not run: a test -->\n',
      '```sh',
      'npx policyloop run a.yaml iterations=3   # right',
      'policyloop rnu a.yaml',
      'policyloop run b.yaml',
      'policyloop run a.yaml iteratoins=3',
      'policyloop show latest --iteratoin 3',
      'policyloop finetune dataset',
      'policyloop finetune rl bandit updatse=3',
      'npm run tset',
      '```',
    ].join('\n');
    const found = await problemsIn(blocksOf('p.md', page));
    expect(found.map((problem) => problem.split(': ')[0])).toEqual([
      'p.md:8 policyloop rnu a.yaml',
      'p.md:8 policyloop run b.yaml',
      'p.md:8 policyloop run a.yaml iteratoins=3',
      'p.md:8 policyloop show latest --iteratoin 3',
      'p.md:8 policyloop finetune dataset',
      'p.md:8 policyloop finetune rl bandit updatse=3',
      'p.md:8 npm run tset',
    ]);
    expect(() => blocksOf('p.md', '<!-- not-run: x -->\n```sh\nls\n```\n')).toThrow('no mark');
  });
});

/** Names of commands and options in running text; words in capitals and brackets stand for something. */
async function problemsInText(page: string): Promise<readonly string[]> {
  const text = readFileSync(join(root, page), 'utf8').replaceAll(/^ {0,3}```[\s\S]*?^ {0,3}```$/gm, '');
  const problems: string[] = [];
  for (const [, code] of text.matchAll(/`policyloop ([^`\n]+)`/g)) {
    const words = code!.replaceAll('…', '').split(/\s+/);
    const named = findCommand(words).command;
    const isGroup = commands.some(([name, , load]) => name === words[0] && typeof load !== 'function');
    if (named === undefined) {
      if (!(isGroup && words.length < 3) && !/^(--|completion|<|COMMAND)/.test(words[0]!))
        problems.push(`${page}: policyloop ${code}`);
      continue;
    }
    const { key } = await declaredOptions(named);
    for (const [, option] of code!.matchAll(/(?:^|\s|\[)--([a-z][\w-]*)/g))
      if (!(option! in key) && !['help', 'version'].includes(option!))
        problems.push(`${page}: policyloop ${code}`);
  }
  return problems;
}

it.each(pages)('policyloop commands in the text of %s exist, with their --options', async (page) => {
  expect(await problemsInText(page)).toEqual([]);
});
