import type { AnswerGrammar, NumberKind } from '../language-model.js';

interface SchemaOptions {
  /** Numbers are listed where there are no more than so many: for servers that ignore bounds. */
  readonly longestList?: number;
  /** Characters of the reason. */
  readonly longestReason?: number;
}

/**
 * JSON schema of an answer `{"reason": "…", "<key>": [ … ]}`, for servers that constrain decoding. The reason comes first,
 * so that a model can think before it commits itself to numbers. Strict schemas want every property required and no
 * others, and can't limit the decimals; the parser checks those.
 */
export function answerSchema(
  { key, labels, number }: AnswerGrammar,
  { longestList = 0, longestReason }: SchemaOptions = {},
): Record<string, unknown> {
  const count = labels.length;
  const items = valueSchema({ ...number, choices: number.choices ?? gridOf(number, longestList) });
  return {
    type: 'object',
    properties: {
      reason: { type: 'string', maxLength: longestReason },
      [key]: { type: 'array', items, minItems: count, maxItems: count },
    },
    required: ['reason', key],
    additionalProperties: false,
  };
}

type Values = Omit<NumberKind, 'choices'> & { readonly choices: readonly number[] | undefined };

function valueSchema({ choices, decimals, high, low }: Values): Record<string, unknown> {
  const type = decimals === 0 ? 'integer' : 'number';
  return choices === undefined ? { type, minimum: low, maximum: high } : { type, enum: [...choices] };
}

/** All allowed numbers in order; undefined where they are more than `most`. */
function gridOf({ decimals, high, low }: NumberKind, most: number): readonly number[] | undefined {
  const scale = 10 ** decimals;
  // Bounds may lie off the grid, and products by a hair beside it.
  const first = Math.ceil(Number((low * scale).toPrecision(15)));
  const last = Math.floor(Number((high * scale).toPrecision(15)));
  const count = last - first + 1;
  if (!(count >= 1 && count <= most)) return undefined;
  return Array.from({ length: count }, (_, i) => Number(((first + i) / scale).toFixed(decimals)) + 0);
}
