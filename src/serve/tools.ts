/** Tools in requests, and the form of their calls in an answer. */
import { z } from 'zod';
import type { TextForm, ToolDefinition, ToolFormat } from '../models/language-model.js';

const functionSchema = z.looseObject({
  name: z.string().min(1).max(256),
  description: z.string().nullish(),
  parameters: z.looseObject({}).nullish(),
  strict: z.boolean().nullish(),
});
export const toolsSchema = z.array(z.looseObject({ type: z.literal('function'), function: functionSchema }));
export const toolChoiceSchema = z.union([
  z.enum(['none', 'auto', 'required']),
  z.looseObject({ type: z.literal('function'), function: z.looseObject({ name: z.string() }) }),
]);
export type RequestedTool = z.output<typeof toolsSchema>[number];

export const definitionOf = ({
  function: { name, description, parameters },
}: RequestedTool): ToolDefinition => ({
  name,
  description: description ?? undefined,
  parameters: parameters ?? undefined,
});

const literal = (text: string): TextForm => ({ kind: 'literal', text });
const sequence = (...parts: readonly TextForm[]): TextForm => ({ kind: 'sequence', parts });

/** @param several whether the model may make more than one call */
export function callsForm(tools: readonly RequestedTool[], format: ToolFormat, several: boolean): TextForm {
  const { after, argumentsKey, before, isList } = format;
  const call: TextForm = {
    kind: 'either',
    options: tools.map(({ function: { name, parameters, strict } }) =>
      sequence(
        literal(`{"name": ${JSON.stringify(name)}, "${argumentsKey}": `),
        { kind: 'json', schema: parameters ?? { type: 'object' }, lenient: strict !== true },
        literal('}'),
      ),
    ),
  };
  const more = (separator: string, part: TextForm): TextForm =>
    several ? sequence(part, { kind: 'repeated', part: sequence(literal(separator), part) }) : part;
  if (isList) return sequence(literal(`${before}[`), more(', ', call), literal(`]${after}`));
  const marked = sequence(literal(before), call, literal(after));
  return before === '' ? marked : more('\n', marked);
}

/** Free text, optionally followed by calls. */
export function freeText({ before }: ToolFormat, calls: TextForm): TextForm {
  const text: TextForm = { kind: 'free', without: [before.trim()] };
  return sequence(text, { kind: 'either', options: [literal(''), calls] });
}
