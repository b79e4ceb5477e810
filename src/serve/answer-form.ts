/** Reads the required form of an answer from a request, in the notations of OpenAI, vLLM and llama.cpp. */
import { z } from 'zod';
import type { TextForm } from '../models/language-model.js';
import { badRequest } from './http.js';

const text = z.string().min(1).nullish();
const choices = z.array(z.string().min(1)).min(1).nullish();
const schema = z.union([z.boolean(), z.looseObject({}), z.string()]).nullish();
const constraints = { json: schema, regex: text, choice: choices, grammar: text };

export const formFields = {
  response_format: z
    .looseObject({ type: z.string(), json_schema: z.looseObject({ schema }).nullish(), schema })
    .nullish(),
  structured_outputs: z.looseObject({ ...constraints, json_object: z.boolean().nullish() }).nullish(),
  guided_json: schema,
  guided_regex: text,
  guided_choice: choices,
  guided_grammar: text,
  /** From llama.cpp's clients. */
  grammar: text,
};
const formSchema = z.object(formFields);
type FormRequest = z.output<typeof formSchema>;

const anyObject: TextForm = { kind: 'json', schema: { type: 'object' } };

/** @throws HttpError if the form is unknown or invalid, or if there are several */
export function requestedForm(request: FormRequest): TextForm | undefined {
  const { response_format: format, structured_outputs: structured } = request;
  const forms = [
    responseForm(format),
    structured?.json_object ? anyObject : undefined,
    jsonForm(structured?.json, 'structured_outputs.json'),
    jsonForm(request.guided_json, 'guided_json'),
    ...[structured?.regex, request.guided_regex].map((pattern) => pattern && { kind: 'regex', pattern }),
    ...[structured?.choice, request.guided_choice].map(
      (given) => given && { kind: 'either', options: given.map((one) => ({ kind: 'literal', text: one })) },
    ),
    ...[structured?.grammar, request.guided_grammar, request.grammar].map(
      (grammar) => grammar && { kind: 'gbnf', grammar },
    ),
  ].filter((form) => form != null && form !== '') as TextForm[];
  if (forms.length > 1)
    throw badRequest('the request has several answer formats; keep one', 'response_format');
  return forms[0];
}

function responseForm(format: FormRequest['response_format']): TextForm | undefined {
  switch (format?.type ?? 'text') {
    case 'text':
      return undefined;
    case 'json_object':
      return jsonForm(format?.schema, 'response_format.schema') ?? anyObject;
    case 'json_schema': {
      const param = 'response_format.json_schema.schema';
      const form = jsonForm(format?.json_schema?.schema, param);
      if (form !== undefined) return form;
      throw badRequest(`${param} is missing`, param);
    }
    default:
      throw badRequest(
        `unsupported response format "${format?.type}"; use text, json_object or json_schema`,
        'response_format.type',
      );
  }
}

/** vLLM's clients may send a schema as text. */
function jsonForm(given: z.output<typeof schema>, param: string): TextForm | undefined {
  if (given == null) return undefined;
  if (typeof given !== 'string') return { kind: 'json', schema: given };
  try {
    return { kind: 'json', schema: JSON.parse(given) as unknown };
  } catch {
    throw badRequest('the JSON schema isn’t valid JSON', param);
  }
}
