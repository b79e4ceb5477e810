import type { ParameterSpec } from '../../policies/policy.js';

/**
 * JSON schema of an answer `{"reason": "…", "params": [ … ]}` that follows `spec`, for servers that constrain decoding.
 * The reason comes first, so that a model can think before it commits itself to numbers. Within what strict schemas
 * allow: every property required, none beside them. The number of decimals can't be said in it; the parser checks that.
 */
export function answerSchema(spec: ParameterSpec): Record<string, unknown> {
  return {
    type: 'object',
    properties: {
      reason: { type: 'string' },
      params: { type: 'array', items: valueSchema(spec), minItems: spec.count, maxItems: spec.count },
    },
    required: ['reason', 'params'],
    additionalProperties: false,
  };
}

function valueSchema(spec: ParameterSpec): Record<string, unknown> {
  const type = spec.kind === 'integer' ? 'integer' : 'number';
  if (spec.choices !== undefined) return { type, enum: [...spec.choices] };
  return { type, minimum: spec.low, maximum: spec.high };
}
