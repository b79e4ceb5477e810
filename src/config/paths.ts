import { existsSync } from 'node:fs';
import { dirname, isAbsolute, resolve } from 'node:path';
import { isPackaged } from '../models/local/settings.js';
import { isModulePath } from '../modules/user-module.js';
import type { Config, ModelConfig } from './config.js';

/**
 * Makes the paths of a config absolute, so that a run can be resumed from anywhere: a relative one is looked up
 * beside the config file first, then in the working directory.
 */
export function absolutePaths(config: Config, file: string, cwd: string): Config {
  const absolute = (path: string): string => {
    if (isAbsolute(path)) return path;
    const beside = resolve(dirname(resolve(cwd, file)), path);
    return existsSync(beside) ? beside : resolve(cwd, path);
  };
  const { environment, model, prompts, warmup } = config;
  return {
    ...config,
    environment: {
      ...environment,
      id: isModulePath(environment.id) ? absolute(environment.id) : environment.id,
    },
    model: modelPaths(model, absolute),
    prompts: {
      ...prompts,
      set: /[\\/]/.test(prompts.set) ? absolute(prompts.set) : prompts.set,
      ...(prompts.description !== undefined && { description: absolute(prompts.description) }),
    },
    warmup: { ...warmup, ...(warmup.from !== undefined && { from: absolute(warmup.from) }) },
  };
}

function modelPaths(model: ModelConfig, absolute: (path: string) => string): ModelConfig {
  switch (model.provider) {
    case 'local':
      return {
        ...model,
        path: isPackaged(model.path) ? model.path : absolute(model.path),
        ...(model.adapter !== undefined && { adapter: absolute(model.adapter) }),
      };
    case 'module':
      return { ...model, path: absolute(model.path) };
    case 'replayed':
      return { ...model, run: absolute(model.run) };
    default:
      return model;
  }
}
