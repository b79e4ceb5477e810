/** What every file of tests starts with. */
import { afterAll } from 'vitest';
import { removeTemporaryDirectories } from './temporary-directory.js';

afterAll(removeTemporaryDirectories);
