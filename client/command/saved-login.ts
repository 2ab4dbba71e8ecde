import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { HubClient } from '../client.ts'
import { CommandError } from './command.ts'
import { PushedVersions } from './pushed-versions.ts'

type Env = Record<string, string | undefined>

interface Login {
  hub: string
  key: string
}

export const defaultHub = 'http://localhost:8787'

/** Returns the path of the file with hub and key. */
function findLoginPath(env: Env): string {
  if (env.ROOKERY_CONFIG) return env.ROOKERY_CONFIG
  return join(env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'rookery', 'login.json')
}

/** Saves hub and key where only this user of the machine can read them. */
export function saveLogin(env: Env, login: Login): string {
  const path = findLoginPath(env)
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeFileSync(path, `${JSON.stringify(login, null, 2)}\n`, { mode: 0o600 })
  // The mode above is of a new file only.
  chmodSync(path, 0o600)
  return path
}

function readLogin(env: Env): Login | null {
  try {
    const { hub, key } = JSON.parse(readFileSync(findLoginPath(env), 'utf8'))
    return typeof hub === 'string' && typeof key === 'string' ? { hub, key } : null
  } catch {
    return null
  }
}

/** Opens what this user of the machine pushed to a hub and pulled from it; it is kept beside the key. */
export const openPushed = (env: Env, { url }: HubClient): PushedVersions =>
  new PushedVersions(join(dirname(findLoginPath(env)), 'pushed.json'), url)

/**
 * Returns the hub to call: `ROOKERY_URL` and `ROOKERY_KEY`, else what `rookery login` saved.
 *
 * A saved key is sent to the hub it was saved for only.
 */
export function openHub(env: Env): HubClient {
  const saved = readLogin(env)
  const url = env.ROOKERY_URL || saved?.hub || defaultHub
  const isSaved = saved !== null && url.replace(/(?<!\/)\/+$/, '') === saved.hub
  const key = env.ROOKERY_KEY || (isSaved ? saved.key : null)
  if (!key) {
    throw new CommandError('signedOut', `There is no key for ${url}.`, 'Run `rookery login`.')
  }
  return new HubClient({ url, key })
}
