import { plural } from '../../base/text/numbers.js';
import type { EarlierUse, IndexedText, ParseFailure } from '../answer/failure.js';
import type { FailureContext } from './prompt-context.js';
import { type ScoreFormat, scoreText as textOfScore } from './scores.js';

/** Maximum number of indices or values to list in a correction; the rest are only counted. */
const maxListed = 20;

const noFailure: FailureContext = {
  missing: false,
  truncated: false,
  echo: false,
  count: null,
  range: null,
  decimals: null,
  duplicate: null,
  notFinite: null,
  program: null,
  repeated: null,
  tooFar: null,
};

/** Returns the variables of the format-correction prompt for a failure. */
export const failureContext = (
  failure: ParseFailure,
  scoreText: ScoreFormat = textOfScore,
): FailureContext => ({ ...noFailure, ...failureFields(failure, scoreText) });

function failureFields(failure: ParseFailure, scoreText: ScoreFormat): Partial<FailureContext> {
  const indicesText = (all: readonly number[]) => listText(all.map((index) => `params[${index}]`));
  const valuesContext = (all: readonly IndexedText[]) => ({
    text: listText(all.map(({ index, text }) => `params[${index}]: ${text}`)),
  });
  switch (failure.kind) {
    case 'missing':
      return { missing: true };
    case 'truncated':
      return { truncated: true };
    case 'echo':
      return { echo: true };
    case 'count': {
      const { found, absent, unknown } = failure;
      return {
        count: {
          found,
          one: found === 1,
          absent: indicesText(absent) || null,
          unknown: indicesText(unknown) || null,
        },
      };
    }
    case 'range':
      return { range: valuesContext(failure.values) };
    case 'decimals':
      return { decimals: valuesContext(failure.values) };
    case 'not-finite':
      return { notFinite: valuesContext(failure.values) };
    case 'duplicate-index':
      return { duplicate: { text: indicesText(failure.indices) } };
    case 'program': {
      const { line, observation, reason } = failure;
      return {
        program: {
          reason,
          line: line === undefined ? null : String(line),
          observation: observation === undefined ? null : JSON.stringify(observation),
        },
      };
    }
    case 'repeated':
      return {
        repeated: {
          ...repeatContext(failure, scoreText),
          sameActions: failure.same === 'actions' ? plural(failure.episodes ?? 0, 'episode') : null,
          sameStructure: failure.same === 'structure',
        },
      };
    case 'too-far':
      return { tooFar: { distance: percentText(failure.distance), most: percentText(failure.most) } };
  }
}

/** Formats a share as a percentage with up to two significant digits. */
export const percentText = (share: number) => String(Number((100 * share).toPrecision(2)));

const repeatContext = ({ iteration, score }: EarlierUse, scoreText: ScoreFormat) => ({
  iteration: iteration === undefined ? null : String(iteration),
  warmup: iteration === 0,
  score: score === undefined ? null : scoreText(score),
});

function listText(items: readonly string[]): string {
  const more = items.length - maxListed;
  return more <= 0 ? items.join(', ') : `${items.slice(0, maxListed).join(', ')} and ${more} more`;
}
