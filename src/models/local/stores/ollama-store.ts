/** Reads Ollama's store on disk, as Ollama's packages `manifest` and `types/model` do. Blobs are named by digest. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { UserError } from '../../../base/errors.js';
import { checkedValue, readJson } from '../../../base/files/files.js';

export type Variables = Readonly<Record<string, string | undefined>>;

export const ollamaScheme = 'ollama:';

export interface OllamaModel {
  /** Name such as `qwen3:0.6b`. */
  readonly name: string;
  readonly file: string;
  readonly bytes: number;
  /** Settings that Ollama uses by default: sampling, context length and stop strings. */
  readonly parameters: OllamaParameters;
}

const parametersSchema = z.looseObject({
  temperature: z.number().min(0).optional(),
  top_p: z.number().optional(),
  top_k: z.int().optional(),
  min_p: z.number().optional(),
  repeat_penalty: z.number().optional(),
  num_ctx: z.int().positive().optional(),
  stop: z.array(z.string()).optional(),
});
type OllamaParameters = z.output<typeof parametersSchema>;

const layerSchema = z.looseObject({ mediaType: z.string(), digest: z.string(), size: z.number() });
const manifestSchema = z.looseObject({ layers: z.array(layerSchema) });

const ollamaRoot = (env: Variables): string => env.OLLAMA_MODELS ?? path.join(homedir(), '.ollama', 'models');

/** @param reference e.g. `qwen3:0.6b` or `user/model:tag`. @throws UserError if the model is missing or unsupported */
export function ollamaModel(reference: string, env: Variables): OllamaModel {
  const root = ollamaRoot(env);
  const manifest = manifestFile(root, reference);
  if (manifest === undefined)
    throw new UserError({
      field: 'model.path',
      value: `${ollamaScheme}${reference}`,
      message: `Ollama’s store doesn’t contain this model (${root})`,
      alternatives: storedNames(root)
        .slice(0, 12)
        .map((name) => ollamaScheme + name),
      hint: `pull it: \`ollama pull ${reference}\`, or set OLLAMA_MODELS to the location of the store`,
    });
  return readManifest(root, reference, manifest);
}

/** Parts of a name become parts of a path, so they must not lead outside the store. */
const part = /^[A-Za-z0-9_][\w.-]*$/;

function manifestFile(root: string, reference: string): string | undefined {
  const slash = reference.lastIndexOf('/');
  const colon = reference.indexOf(':', slash + 1);
  const [name, tag] =
    colon < 0 ? [reference, 'latest'] : [reference.slice(0, colon), reference.slice(colon + 1)];
  const parts = name.split('/');
  if (parts.length > 3 || ![...parts, tag].every((one) => part.test(one.replace(/:\d+$/, ''))))
    return undefined;
  const model = parts.at(-1)!;
  const namespace = parts.at(-2) ?? 'library';
  const manifests = path.join(root, 'manifests');
  const hosts = parts.length === 3 ? [parts[0]!] : hostsOf(manifests, namespace);
  return hosts.map((host) => path.join(manifests, host, namespace, model, tag)).find(isFile);
}

function hostsOf(manifests: string, namespace: string): readonly string[] {
  const official = 'registry.ollama.ai';
  const others = folders(manifests).filter(
    (host) => host !== official && existsSync(path.join(manifests, host, namespace)),
  );
  return [official, ...others];
}

function readManifest(root: string, name: string, manifest: string): OllamaModel {
  const { layers } = checkedValue(manifestSchema, readJson(manifest), manifest);
  const kindOf = ({ mediaType }: z.output<typeof layerSchema>) =>
    mediaType.replace('application/vnd.ollama.image.', '');
  const unusable = layers.find((layer) => ['adapter', 'tensor'].includes(kindOf(layer)));
  if (unusable !== undefined)
    throw new UserError({
      field: 'model.path',
      value: `${ollamaScheme}${name}`,
      message:
        kindOf(unusable) === 'adapter'
          ? 'this model has a GGUF adapter in addition to its weights, which is not supported here'
          : 'this model’s weights are stored as safetensors for MLX, which is not supported here',
      hint: 'use the provider `ollama` for this model',
    });
  const model = layers.find((layer) => kindOf(layer) === 'model');
  const file = model && blobFile(root, model.digest);
  if (model === undefined || file === undefined || !isFile(file))
    throw new UserError({
      file: manifest,
      message: model === undefined ? 'this manifest lists no weights' : `the blob ${model.digest} is missing`,
      hint: `pull the model again: \`ollama pull ${name}\``,
    });
  const params = layers.find((layer) => kindOf(layer) === 'params');
  const paramsFile = params && blobFile(root, params.digest);
  const stated = paramsFile === undefined ? {} : (readJson(paramsFile) ?? {});
  const parameters = checkedValue(parametersSchema, stated, paramsFile ?? manifest);
  return { name, file, bytes: statSync(file).size, parameters };
}

function blobFile(root: string, digest: string): string | undefined {
  const hash = /^sha256[:-]([0-9a-f]{64})$/.exec(digest);
  return hash === null ? undefined : path.join(root, 'blobs', `sha256-${hash[1]}`);
}

/** Names such as `model:tag`, sorted; they omit Ollama's default host, and its default namespace on that host. */
function storedNames(root: string): readonly string[] {
  const manifests = path.join(root, 'manifests');
  const names = folders(manifests).flatMap((host) =>
    folders(path.join(manifests, host)).flatMap((namespace) =>
      folders(path.join(manifests, host, namespace)).flatMap((model) =>
        entries(path.join(manifests, host, namespace, model)).map((tag) => {
          const own = host === 'registry.ollama.ai';
          const prefix = own ? (namespace === 'library' ? '' : `${namespace}/`) : `${host}/${namespace}/`;
          return `${prefix}${model}:${tag}`;
        }),
      ),
    ),
  );
  return names.sort();
}

const isFile = (file: string): boolean => statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;

const entries = (folder: string): readonly string[] =>
  existsSync(folder) ? readdirSync(folder).filter((name) => !name.startsWith('.')) : [];

const folders = (folder: string): readonly string[] =>
  entries(folder).filter((name) =>
    statSync(path.join(folder, name), { throwIfNoEntry: false })?.isDirectory(),
  );
