/** The files of users that a config names. */
import { isModulePath } from '../modules/user-module.js';
import type { Config } from './config.js';

/** Paths of all modules of a config. */
export function modulesOf({ environment }: Config): readonly string[] {
  return [...(isModulePath(environment.id) ? [environment.id] : [])];
}
