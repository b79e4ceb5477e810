import type { Argv } from 'yargs';
import { type Arguments, common } from '../base/command.js';
import type { CommandContext } from '../base/context.js';
import type { Space } from '../environments/environment.js';
import { number, terminalTable, text } from '../format/table.js';

export const options = (y: Argv) =>
  y
    .positional('id', { type: 'string', describe: 'Environment id' })
    .option('json', common.json)
    .example('$0 environments', 'all that need no server')
    .example('$0 environments FrozenLake-v1', 'its spaces, step limit and options');

type Args = Arguments<typeof options>;

/** `policyloop environments [id]`. */
export async function execute(args: Args, context: CommandContext): Promise<number> {
  const { environmentIds } = await import('../environments/catalogue/open.js');
  const ids = args.id === undefined ? environmentIds() : [args.id];
  const described = await Promise.all(ids.map((id) => describe(id, context)));
  if (args.json) {
    context.print(JSON.stringify(described));
  } else if (args.id === undefined) {
    context.print(
      terminalTable(
        described,
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
    for (const { id, observation, action, maxSteps, options } of described) {
      context.print(
        [
          id,
          `observation  ${observation}`,
          `action       ${action}`,
          `step limit   ${maxSteps ?? 'none'}`,
          `options      ${options.join(', ') || 'none'}`,
        ].join('\n'),
      );
    }
  }
  return 0;
}

async function describe(id: string, { env }: Pick<CommandContext, 'env'>) {
  const { environmentInfo, isBuiltInId, openEnvironment } = await import('../environments/catalogue/open.js');
  const environment = await openEnvironment({ id }, env);
  await environment.close?.();
  const options = isBuiltInId(id) ? environmentInfo(environment.id).options : ['those of the environment'];
  return {
    id: environment.id,
    observation: spaceText(environment.observationSpace),
    action: spaceText(environment.actionSpace),
    maxSteps: environment.maxSteps,
    options,
  };
}

function spaceText(space: Space): string {
  switch (space.kind) {
    case 'discrete':
      return space.start ? `Discrete(${space.n}, start=${space.start})` : `Discrete(${space.n})`;
    case 'box':
      return `Box(${space.low.length})`;
    case 'tuple':
      return `Tuple(${space.spaces.map(spaceText).join(', ')})`;
  }
}
