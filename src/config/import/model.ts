import { UserError } from '../../base/errors.js';
import { type ConfigFields, carry, type ForeignConfig, type ImportDraft, keyValue } from './draft.js';

/** Our `model` fields, with a note for the user if the choice needs explaining. */
interface ModelChoice extends ConfigFields {
  readonly provider: string;
  readonly reason?: string;
}

export function importModel(draft: ImportDraft): void {
  const choice = chooseModel(draft.foreign);
  if (choice === undefined) return;
  const { reason, ...fields } = choice;
  const settings = Object.fromEntries(Object.entries(fields).map(([key, value]) => [`model.${key}`, value]));
  carry(draft, 'llm_model_name', settings, reason);
  if (keyValue(draft.foreign, 'model_type') !== undefined)
    carry(draft, 'model_type', { 'model.provider': fields.provider });
  if (fields.adapter !== undefined) carry(draft, 'base_model', { 'model.path': fields.path });
}

/** Both programs infer the provider from the model's name; LLM-RL-finetune also has `model_type`. */
function chooseModel(foreign: ForeignConfig): ModelChoice | undefined {
  const writtenName = keyValue(foreign, 'llm_model_name');
  if (writtenName === undefined) return undefined;
  const name = String(writtenName);
  const type = String(keyValue(foreign, 'model_type') ?? '').toLowerCase();
  if (type === 'offline') return modelWithAdapter(name, keyValue(foreign, 'base_model'));
  const ossSize = gptOssPattern.exec(name)?.[1]?.toLowerCase();
  if (ossSize !== undefined)
    return {
      provider: 'ollama',
      name: `gpt-oss:${ossSize}`,
      reason: `policyloop can't run this architecture itself: run ollama pull gpt-oss:${ossSize}`,
    };
  if (type === 'hf') return localModel(name);
  if (name.startsWith('ollama:')) return { provider: 'ollama', name: name.slice(7) };
  for (const { baseUrl, apiKeyEnv, isMeant } of services) {
    if (!isMeant(name, type)) continue;
    const reason = `called through its OpenAI-compatible API, with the key in ${apiKeyEnv}`;
    return { provider: 'openai', name, baseUrl, apiKeyEnv, reason };
  }
  if (type === 'openai' || /^(gpt-(?!oss)|chatgpt|o\d)/i.test(name)) return { provider: 'openai', name };
  if (name.includes('/')) return localModel(name);
  return { provider: 'ollama', name, reason: 'the config names no server, so Ollama is assumed' };
}

/** Documented at ai.google.dev/gemini-api/docs/openai and docs.claude.com/en/api/openai-sdk. */
const services = [
  {
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai/',
    apiKeyEnv: 'GEMINI_API_KEY',
    isMeant: (name: string, type: string) => type === 'gemini' || /^(models\/)?gemini/i.test(name),
  },
  {
    baseUrl: 'https://api.anthropic.com/v1/',
    apiKeyEnv: 'ANTHROPIC_API_KEY',
    isMeant: (name: string) => /^claude/i.test(name),
  },
];

const gptOssPattern = /\/gpt-oss-(\d+b)$/i;

function modelWithAdapter(adapter: string, base: unknown): ModelChoice {
  if (base === undefined)
    return {
      provider: 'local',
      path: adapter,
      reason: 'without base_model, this is assumed to be the directory of a complete model',
    };
  if (gptOssPattern.test(String(base)))
    throw new UserError({
      field: 'base_model',
      message: 'policyloop can neither run nor adapt models of this architecture',
      value: base,
      hint: 'serve the model with its adapter (e.g. with vLLM), set model_type: openai here, and pass the address as model.baseUrl=…',
    });
  return { ...localModel(String(base)), adapter };
}

/** The original programs download models by name; here, users download them first. */
function localModel(name: string): ModelChoice {
  if (!/^[\w.-]+\/[\w.-]+$/.test(name) || /^(\.{1,2}|models|checkpoints|logs)\//.test(name))
    return { provider: 'local', path: name };
  const path = `./models/${name.split('/')[1]}`;
  const reason = `download it first: hf download ${name} --local-dir ${path}`;
  return { provider: 'local', path, reason };
}
