/** Checks of the `critic` section beyond its schema. */
import { findBaseline } from '../search/baselines.js';
import type { Config } from './config.js';
import { languageModelOf } from './model.js';
import { costOnly, type Found, modelProblems, placedIn } from './model-checks.js';

export function criticProblems(config: Config): readonly Found[] {
  const { adapt, critic, limits, memory, model } = config;
  if (critic === undefined) {
    return [
      memory.revisions !== undefined && {
        field: 'memory.revisions',
        value: memory.revisions,
        message: 'has no effect: nothing is revised without a critic',
        remedy: 'remove it, or add a section critic',
      },
    ];
  }
  const own = critic.model;
  const nobody = own === undefined && model.provider !== 'replayed' && languageModelOf(model) === undefined;
  const isBaseline = own !== undefined && findBaseline(own.provider) !== undefined;
  return [
    nobody && {
      field: 'critic.model',
      message: `is missing: ${model.provider} reads no prompts, so nobody could revise`,
      remedy:
        'add critic.model, a language model or, to compare with, a baseline; critic= leaves the critic out',
    },
    adapt !== undefined && {
      field: 'critic',
      message:
        'does not go with adapt: a revision answers another prompt than the proposals that are learnt from',
      remedy: 'remove critic or adapt',
    },
    critic.every > config.iterations && {
      field: 'critic.every',
      value: critic.every,
      message: `never comes: there are ${config.iterations} iterations`,
      remedy: 'lower critic.every or raise iterations',
    },
    isBaseline &&
      critic.show !== 'both' && {
        field: 'critic.show',
        value: critic.show,
        message: `has no effect: ${own.provider} looks at scores alone`,
        remedy: 'remove critic.show',
      },
    memory.ofGroup !== undefined &&
      memory.revisions === 'all' && {
        field: 'memory.revisions',
        value: 'all',
        message: 'does not go with memory.ofGroup, which holds one evaluation an iteration',
        remedy: 'remove one of the two',
      },
    ...(own === undefined || isBaseline
      ? []
      : modelProblems({
          ...config,
          adapt: undefined,
          target: undefined,
          model: own,
          limits: costOnly(limits, own),
        }).map((problem) => problem && placedIn(problem, 'critic.model'))),
  ];
}
