import { reset } from 'cloudflare:test'
import { env } from 'cloudflare:workers'

/** Whether no table exists, so that the data of the previous file is deleted. */
const isEmpty = async (): Promise<boolean> =>
  (await env.DB.prepare("SELECT 1 FROM sqlite_master WHERE name = 'accounts'").first()) === null

// Every test file starts with an empty Worker: no row, no table, no object. On a busy machine a reset
// sometimes leaves the database unchanged.
let resets = 0
do {
  if (++resets > 10) throw new Error('Resetting the database of the previous test file failed.')
  await reset()
} while (!(await isEmpty()))
