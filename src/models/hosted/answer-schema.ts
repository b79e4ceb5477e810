import type { AnswerGrammar, NumberKind } from '../language-model.js';

/**
 * JSON schema of an answer `{"reason": "…", "<key>": [ … ]}`, for servers that constrain decoding. The reason comes first,
 * so that a model can think before it commits itself to numbers. Strict schemas want every property required and no
 * others, and can't limit the decimals; the parser checks those.
 */
export function answerSchema({ key, labels, number }: AnswerGrammar): Record<string, unknown> {
  const count = labels.length;
  return {
    type: 'object',
    properties: {
      reason: { type: 'string' },
      [key]: { type: 'array', items: valueSchema(number), minItems: count, maxItems: count },
    },
    required: ['reason', key],
    additionalProperties: false,
  };
}

function valueSchema({ choices, decimals, high, low }: NumberKind): Record<string, unknown> {
  const type = decimals === 0 ? 'integer' : 'number';
  return choices === undefined ? { type, minimum: low, maximum: high } : { type, enum: [...choices] };
}
