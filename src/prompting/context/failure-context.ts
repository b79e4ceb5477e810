import type { IndexedText, ParseFailure, SeenParameters } from '../answer/parse.js';
import type { FailureContext } from './prompt-context.js';
import { type ScoreText, twoDecimals } from './scores.js';

/** How many indices or values a correction lists before it only gives the number of the rest. */
const namedLimit = 20;

const nothing: FailureContext = {
  missing: false,
  truncated: false,
  echo: false,
  count: null,
  range: null,
  decimals: null,
  duplicate: null,
  notFinite: null,
  repeated: null,
  tooClose: null,
  tooFar: null,
  ambiguous: null,
};

/** What the format-correction prompt says about a failure; `name` is that of the values, such as `params`. */
export function failureContext(
  failure: ParseFailure,
  name: string,
  scoreText: ScoreText = twoDecimals,
): FailureContext {
  const indicesText = (indices: readonly number[]) => listed(indices.map((index) => `${name}[${index}]`));
  const valuesText = (values: readonly IndexedText[]) =>
    listed(values.map(({ index, text }) => `${name}[${index}]: ${text}`));
  switch (failure.kind) {
    case 'missing':
    case 'no-feedback':
      return { ...nothing, missing: true };
    case 'truncated':
      return { ...nothing, truncated: true };
    case 'echo':
      return { ...nothing, echo: true };
    case 'count': {
      const { found, absent, unknown } = failure;
      const names = (indices: readonly number[]) => (indices.length === 0 ? null : indicesText(indices));
      return {
        ...nothing,
        count: { found, one: found === 1, absent: names(absent), unknown: names(unknown) },
      };
    }
    case 'range':
      return { ...nothing, range: { text: valuesText(failure.values) } };
    case 'decimals':
      return { ...nothing, decimals: { text: valuesText(failure.values) } };
    case 'not-finite':
      return { ...nothing, notFinite: { text: valuesText(failure.values) } };
    case 'duplicate-index':
      return { ...nothing, duplicate: { text: indicesText(failure.indices) } };
    case 'repeated':
      return { ...nothing, repeated: seenText(failure, scoreText) };
    case 'too-far': {
      const { distance, most } = failure;
      return { ...nothing, tooFar: { distance: percent(distance), most: percent(most) } };
    }
    case 'too-close':
      return {
        ...nothing,
        tooClose: {
          ...seenText(failure, scoreText),
          distance: percent(failure.distance),
          least: percent(failure.least),
        },
      };
  }
}

/** A share in percent, with two significant digits. */
export const percent = (share: number) => String(Number((100 * share).toPrecision(2)));

const seenText = ({ iteration, score }: SeenParameters, scoreText: ScoreText) => ({
  iteration: iteration === undefined ? null : String(iteration),
  warmup: iteration === 0,
  score: score === undefined ? null : scoreText(score),
});

function listed(items: readonly string[]): string {
  const more = items.length - namedLimit;
  return more <= 0 ? items.join(', ') : `${items.slice(0, namedLimit).join(', ')} and ${more} more`;
}
