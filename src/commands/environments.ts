import type { Argv } from 'yargs';
import { type Arguments, commonOptions } from '../base/command.js';
import type { CommandContext } from '../base/context.js';
import { number, terminalTable, text } from '../base/text/table.js';
import type { Space } from '../environments/environment.js';
import { largest } from '../statistics/descriptive.js';

export const options = (y: Argv) =>
  y
    .positional('id', { type: 'string', describe: 'Environment id (default: list the built-in ones)' })
    .option('json', commonOptions.json)
    .example('$0 environments', 'all built-in environments')
    .example('$0 environments FrozenLake-v1', 'spaces, options, observation, actions and reward');

export async function execute(args: Arguments<typeof options>, context: CommandContext): Promise<number> {
  const { environmentIds, textEnvironmentIds } = await import('../environments/catalogue/open.js');
  const ids = args.id === undefined ? [...environmentIds(), ...textEnvironmentIds()] : [args.id];
  const descriptions = await Promise.all(ids.map((id) => describe(id, context)));
  if (args.json) {
    context.print(JSON.stringify(descriptions));
  } else if (args.id === undefined) {
    context.print(
      terminalTable(
        descriptions,
        [
          text('environment', ({ id }) => id),
          text('observation', ({ observation }) => observation),
          text('action', ({ action }) => action),
          number('step limit', ({ maxSteps }) => maxSteps ?? 'none'),
        ],
        context.columns,
      ),
    );
  } else {
    for (const environment of descriptions) context.print(detailsText(environment));
  }
  return 0;
}

/** Returns an environment's spaces, options, step limit, description, and differences from the requested version. */
async function describe(id: string, { env }: Pick<CommandContext, 'env'>) {
  const { environmentInfo, isBuiltInId, openEnvironment } = await import('../environments/catalogue/open.js');
  const { replacementFor } = await import('../environments/catalogue/versions.js');
  const { loadPromptSet } = await import('../prompting/templates/prompt-set.js');
  const environment = await openEnvironment({ id }, env);
  await environment.close?.();
  const info = isBuiltInId(id) ? environmentInfo(environment.id) : undefined;
  // 1000 is the default of `evaluation.maxSteps`.
  const prompts = loadPromptSet({ set: 'semantic', environment, options: {}, maxSteps: 1000 });
  return {
    id: environment.id,
    note: replacementFor(id)?.note,
    observation: spaceText(environment.observationSpace),
    action: spaceText(environment.actionSpace),
    maxSteps: environment.maxSteps,
    options: info?.options ?? ['defined by the environment'],
    defaults: info?.defaults ?? {},
    description: prompts.description,
  };
}

function detailsText(environment: Awaited<ReturnType<typeof describe>>): string {
  const { action, defaults, description, id, maxSteps, note, observation, options } = environment;
  const width = largest(options.map((name) => name.length));
  return [
    id,
    ...(note === undefined ? [] : [note]),
    `observation  ${observation}`,
    `action       ${action}`,
    `step limit   ${maxSteps ?? 'none'}`,
    'options and defaults (in a config: environment.options.NAME):',
    ...options.map((name) => `  ${name.padEnd(width)}  ${defaultText(defaults[name])}`.trimEnd()),
    '',
    'Description in prompts (prompts.set: semantic):',
    '',
    description.trim(),
  ].join('\n');
}

function defaultText(value: unknown): string {
  if (value === undefined) return '';
  return Array.isArray(value) ? `[${value.map(defaultText).join(', ')}]` : String(value);
}

function spaceText(space: Space): string {
  switch (space.kind) {
    case 'discrete':
      return space.start ? `Discrete(${space.n}, start=${space.start})` : `Discrete(${space.n})`;
    case 'box':
      return `Box(${space.low.length})`;
    case 'text':
      return space.choices === undefined ? 'Text' : `Text(${space.choices.join(', ')})`;
    case 'tuple':
      return `Tuple(${space.spaces.map(spaceText).join(', ')})`;
  }
}
