import { UserError } from '../../base/errors.js';
import { type Fields, given, type TheirConfig } from './draft.js';

/** Our `model` fields, with a note for the user if the choice needs explaining. */
export interface ModelChoice {
  readonly fields: Fields & { readonly provider: string };
  readonly reason?: string;
}

/** Both programs infer the provider from the model's name; LLM-RL-finetune also has `model_type`. */
export function chooseModel(theirs: TheirConfig): ModelChoice | undefined {
  const written = given(theirs, 'llm_model_name');
  if (written === undefined) return undefined;
  const name = String(written);
  const type = String(given(theirs, 'model_type') ?? '').toLowerCase();
  if (type === 'offline') return adapted(name, given(theirs, 'base_model'));
  const oss = gptOss.exec(name)?.[1];
  if (oss !== undefined) {
    return {
      fields: { provider: 'ollama', name: `gpt-oss:${oss.toLowerCase()}` },
      reason: `policyloop can't run this architecture itself: run ollama pull gpt-oss:${oss.toLowerCase()}, or use an OpenAI-compatible server with model.provider=openai and model.baseUrl`,
    };
  }
  if (type === 'hf') return downloaded(name);
  if (name.startsWith('ollama:'))
    return { fields: { provider: 'ollama', name: name.slice('ollama:'.length) } };
  if (type === 'gemini' || /^(models\/)?gemini/i.test(name)) return compatible(name, gemini);
  if (/^claude/i.test(name)) return compatible(name, anthropic);
  if (type === 'openai' || /^(gpt-(?!oss)|chatgpt|o\d)/i.test(name)) {
    return { fields: { provider: 'openai', name } };
  }
  if (name.includes('/')) return downloaded(name);
  return {
    fields: { provider: 'ollama', name },
    reason:
      'the config names no server, so Ollama is assumed; for an OpenAI-compatible server, set model.provider=openai and model.baseUrl',
  };
}

interface Service {
  readonly name: string;
  readonly baseUrl: string;
  readonly apiKeyEnv: string;
}

/** Documented at ai.google.dev/gemini-api/docs/openai. */
const gemini: Service = {
  name: 'Gemini',
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai/',
  apiKeyEnv: 'GEMINI_API_KEY',
};

/** Documented at docs.claude.com/en/api/openai-sdk. */
const anthropic: Service = {
  name: 'Anthropic',
  baseUrl: 'https://api.anthropic.com/v1/',
  apiKeyEnv: 'ANTHROPIC_API_KEY',
};

function compatible(name: string, { name: service, baseUrl, apiKeyEnv }: Service): ModelChoice {
  return {
    fields: { provider: 'openai', name, baseUrl, apiKeyEnv },
    reason: `${service} is called through its OpenAI-compatible API, with the key in ${apiKeyEnv}`,
  };
}

const gptOss = /\/gpt-oss-(\d+b)$/i;

function adapted(adapter: string, base: unknown): ModelChoice {
  if (base === undefined) {
    return {
      fields: { provider: 'local', path: adapter },
      reason:
        'without base_model, this is assumed to be the directory of a complete model, which policyloop runs itself',
    };
  }
  if (gptOss.test(String(base))) {
    throw new UserError({
      field: 'base_model',
      message: 'policyloop can neither run nor adapt models of this architecture',
      value: base,
      remedy:
        'serve the base model with the adapter (e.g. with vLLM), then set model_type=openai and model.baseUrl',
    });
  }
  const { path, reason } = directoryOf(String(base));
  return { fields: { provider: 'local', path, adapter }, ...(reason !== undefined && { reason }) };
}

function downloaded(name: string): ModelChoice {
  const { path, reason } = directoryOf(name);
  return { fields: { provider: 'local', path }, ...(reason !== undefined && { reason }) };
}

/** The original programs download models by name; here, users download them first. */
function directoryOf(name: string): { readonly path: string; readonly reason?: string } {
  if (!/^[\w.-]+\/[\w.-]+$/.test(name) || /^(\.{1,2}|models|checkpoints|logs)\//.test(name))
    return { path: name };
  const path = `./models/${name.split('/')[1]}`;
  return { path, reason: `runs don't download models: run hf download ${name} --local-dir ${path} first` };
}
