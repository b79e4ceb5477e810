/** The table of commands, including those of `finetune/`, the overview that `--help` prints, and shell completion. */
import yargs from 'yargs';
import { finetuneCommands } from '../finetune/cli.js';
import { common, type ListedCommand } from './base/command.js';
import type { CommandContext } from './base/context.js';
import type { DeclaredOptions } from './base/overrides-apart.js';
import type { ConfigKindName } from './config/file.js';
import type { Loaded } from './mcp/serve-mcp.js';

type Group = readonly [name: string, describe: string, commands: readonly ListedCommand[]];

/** Commands under the headings of `policyloop --help`. A command's file is loaded when it is named. */
const sections: readonly (readonly [heading: string, commands: readonly (ListedCommand | Group)[]])[] = [
  [
    'Run experiments',
    [
      ['run <config> [overrides..]', 'Run an experiment', () => import('./commands/run.js')],
      [
        'check <configs..>',
        'Find problems in configs, and estimate calls, tokens and cost, before a run',
        async () => {
          const { execute: check, finishing, options } = await import('./commands/check.js');
          const { checkLearning } = await import('../finetune/rl/check/check-learning.js');
          return {
            ...{ finishing, options },
            execute: (args: Parameters<typeof check>[0], given: CommandContext) =>
              check(args, given, checkLearning),
          };
        },
      ],
      [
        'resume <run> [overrides..]',
        'Resume a run after a crash, a Ctrl-C or a pause, or extend it',
        () => import('./commands/resume.js'),
      ],
      [
        'sweep <config> [overrides..]',
        'Run a config with many values of some keys, and measure their effects',
        () => import('./commands/sweep.js'),
      ],
      [
        'controls <configs..>',
        'Run the baselines (random search, hill climbing, CMA-ES) on many tasks',
        () => import('./commands/controls.js'),
      ],
      [
        'play <config> [overrides..]',
        'Play games with an agent: a language model, an expert, random play, or you',
        () => import('./commands/play.js'),
      ],
    ],
  ],
  [
    'Look at results',
    [
      ['list [filters..]', 'List runs and trainings', () => import('./commands/list.js')],
      [
        'show <run>',
        'Show a run: learning curve, best evaluations, best policy, usage',
        () => import('./commands/show.js'),
      ],
      [
        'view [dir]',
        'Open a live view of runs, trainings and games in a browser',
        async () => {
          const { execute: view, finishing, options } = await import('./commands/view.js');
          const { shownTraining } = await import('../finetune/rl/pages/shown-training.js');
          return {
            ...{ finishing, options },
            execute: (args: Parameters<typeof view>[0], given: CommandContext) =>
              view(args, given, shownTraining),
          };
        },
      ],
      [
        'compare <runs..>',
        'Compare groups of runs: intervals, tests, learning curves',
        () => import('./commands/compare.js'),
      ],
      [
        'evaluate <run>',
        'Evaluate the best policy of a run on fresh seeds',
        () => import('./commands/evaluate.js'),
      ],
      [
        'render <run>',
        'Draw an episode of a policy as an animated GIF or SVG',
        () => import('./commands/render.js'),
      ],
      ['report <run>', 'Regenerate report.html of a run', () => import('./commands/report.js')],
      [
        'query <sql> [runs..]',
        'Query runs, evaluations, episodes, calls and steps with SQL',
        () => import('./commands/runs/query.js'),
      ],
      [
        'export <runs..>',
        'Export runs, evaluations, episodes and calls as CSV or Parquet',
        () => import('./commands/runs/export.js'),
      ],
    ],
  ],
  [
    'Manage runs',
    [
      ['pause <runs..>', 'Pause a running run', () => import('./commands/runs/pause.js')],
      ['stop <runs..>', 'Stop a running run; it can be resumed', () => import('./commands/runs/stop.js')],
      [
        'set <run> [overrides..]',
        'Change limits, iterations or target of a running run',
        () => import('./commands/runs/set.js'),
      ],
      ['tag <run> [tags..]', 'Add or remove tags', () => import('./commands/runs/tag.js')],
      ['note <run> [text]', 'Attach a note to a run', () => import('./commands/runs/note.js')],
      ['remove [runs..]', 'Move runs to the trash', () => import('./commands/runs/remove.js')],
    ],
  ],
  [
    'Models and training',
    [
      [
        'models',
        'Check, list, download and compare models',
        [
          [
            'check [directory]',
            'Describe a model directory: size, memory, context, template, devices, what is missing',
            () => import('./commands/models/check.js'),
          ],
          [
            'list',
            'List the models of Ollama, the Hugging Face cache and LM Studio, and whether they can run',
            () => import('./commands/models/list.js'),
          ],
          [
            'compare <config> [overrides..]',
            'Let models and baselines propose from the same histories, and show which one improves most often',
            () => import('./commands/models/compare.js'),
          ],
          [
            'pull <model>',
            'Download a Hugging Face model into its cache',
            () => import('./commands/models/pull.js'),
          ],
          [
            'remove <model>',
            'Remove a model that `models pull` downloaded',
            () => import('./commands/models/remove.js'),
          ],
        ],
      ],
      ['finetune', 'Train a local model on logged runs', finetuneCommands],
    ],
  ],
  [
    'Set up and connect',
    [
      ['doctor', 'Check your setup', () => import('./commands/doctor.js')],
      [
        'environments [id]',
        'List the environments, or describe one',
        () => import('./commands/environments.js'),
      ],
      [
        'init <kind> <file>',
        'Write a template for your own environment, policy, model, reward or prompt helpers',
        () => import('./commands/init.js'),
      ],
      [
        'import <config> [overrides..]',
        'Convert a config of ProPS or LLM-RL-finetune',
        () => import('./commands/import.js'),
      ],
      [
        'serve',
        'Serve a local model (OpenAI-compatible) or environments (OpenEnv) on this machine',
        () => import('./commands/serve.js'),
      ],
      [
        'mcp',
        'Serve runs, comparisons and checks to assistants (Model Context Protocol)',
        async () => {
          const { execute: mcp, finishing, options } = await import('./commands/mcp.js');
          return {
            ...{ finishing, options },
            execute: (args: Parameters<typeof mcp>[0], given: CommandContext) => mcp(args, given, loadTool),
          };
        },
      ],
    ],
  ],
];

export const commands = sections.flatMap(([, listed]) => listed);

/** What `policyloop --help` prints. */
export function overview(): string {
  const blocks = sections.map(([heading, listed]) => {
    const lines = listed.map(
      ([signature, describe]) => `  ${signature.split(' ')[0]!.padEnd(14)}${describe}`,
    );
    return [`${heading}:`, ...lines].join('\n');
  });
  return [
    'policyloop <command>',
    'A language model reads the replay buffer and proposes better policies.',
    ...blocks,
    'Shell completion: policyloop completion (bash, zsh) or policyloop completion fish.\n' +
      'Arguments, options and examples of a command: policyloop <command> --help. Version: policyloop --version.',
  ].join('\n\n');
}

/** What bare `policyloop` prints. */
export const greeting = `policyloop: a language model reads the replay buffer and proposes better policies.

  policyloop run quickstart            solve CartPole-v1 offline in seconds, with the embedded model
  policyloop show latest               see what happened
  policyloop doctor                    check your setup
  policyloop run cartpole-semantic model.name=qwen3:8b
                                       use your own model, here one served by Ollama
  policyloop --help                    list all commands`;

/** A command by its words, with the values of the arguments that are not given. */
export async function loadTool(words: string): Promise<Loaded> {
  const listed = namedCommand(words.split(' '))!;
  const { boolean, default: defaults } = await declaredOptions(listed);
  const flags = boolean.map((name) => [name, false] as const);
  return {
    command: await listed[2](),
    defaults: Object.fromEntries(
      [...flags, ...Object.entries(defaults)].map(([name, value]) => [camelCase(name), value]),
    ),
  };
}

const camelCase = (name: string) => name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The command that the first words name. */
export function namedCommand([first, second]: readonly string[]): ListedCommand | undefined {
  const isNamed = (word: string | undefined) => (listed: readonly [string, ...unknown[]]) =>
    listed[0].split(' ')[0] === word;
  const found = commands.find(isNamed(first));
  if (found === undefined) return undefined;
  const [signature, describe, load] = found;
  return typeof load === 'function' ? [signature, describe, load] : load.find(isNamed(second));
}

/** The options that a command declares. */
export async function declaredOptions([, , load]: ListedCommand): Promise<DeclaredOptions> {
  const declared = (await load()).options(yargs([])) as unknown as { getOptions(): DeclaredOptions };
  return declared.getOptions();
}

/** Kinds of ready configs that a command takes; `run` and all others take experiments. */
const configsOf: Readonly<Record<string, readonly ConfigKindName[]>> = {
  play: ['agents'],
  check: ['experiment', 'rl'],
  collect: ['collection'],
  train: ['training'],
  rl: ['rl'],
};

/**
 * What the last word of a command line may become: a command, an option, the name of a run or of a ready config. Empty
 * where a shell knows better, as for files.
 * @param words behind the program's name, the last of which may be empty
 */
export async function completions(words: readonly string[], cwd: string): Promise<readonly string[]> {
  const current = words.at(-1) ?? '';
  const begun = (all: readonly string[]) => all.filter((text) => text.startsWith(current));
  const namesOf = (listed: readonly (readonly [string, ...unknown[]])[]) =>
    listed.map(([signature]) => signature.split(' ')[0]!);
  if (words.length < 2) return begun([...namesOf(commands), 'completion']);
  const group = commands.find(([name]) => name === words[0])?.[2];
  if (typeof group === 'object' && words.length < 3) return begun(namesOf(group));
  const named = namedCommand(words);
  if (named === undefined) return [];
  const [name, ...places] = named[0].split(' ');
  if (current.startsWith('-')) {
    const { key } = await declaredOptions(named);
    const isPlace = (option: string) => places.some((place) => place.replaceAll(/[^\w-]/g, '') === option);
    return begun(Object.keys(key).flatMap((option) => (isPlace(option) ? [] : [`--${option}`])));
  }
  const before = words.slice(typeof group === 'object' ? 2 : 1, -1);
  const at = before.filter((word, i) => !word.startsWith('-') && !before[i - 1]?.startsWith('--')).length;
  const place = places[at] ?? (places.at(-1)?.includes('..') ? places.at(-1) : undefined);
  if (/^[<[]runs?\b/.test(place ?? '') || before.at(-1) === '--history-from') {
    const { runNames } = await import('./runs/listing/names.js');
    const runsDir = words[words.indexOf('--runs-dir') + 1];
    return begun(
      runNames({ cwd, runsDir: words.includes('--runs-dir') && runsDir ? runsDir : common.runsDir.default }),
    );
  }
  if (/^<configs?\b/.test(place ?? '')) {
    const { bundledConfigs } = await import('./config/file.js');
    return begun((configsOf[name!] ?? ['experiment']).flatMap((kind) => bundledConfigs(kind)));
  }
  return [];
}
