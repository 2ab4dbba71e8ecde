import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { bundle, withWorker } from '../../bench/miniflare.mjs'
import type { GitSetUp } from '../support/git-world'
import { type GitServer, startGitServer } from './git-server'

/** `/git` on a real runtime, between real git and a real git server. */
const entry = fileURLToPath(new URL('../support/git-worker.ts', import.meta.url))
const execute = promisify(execFile)

interface GitAudit {
  tool: string
  grant: string
  decision: string
  outcome: string | null
  arguments: { repository: string; refs?: { ref: string; old: string; may_be_forced: boolean }[] }
}

export class GitWorld {
  token = ''

  constructor(
    readonly hub: URL,
    readonly service: GitServer,
    readonly folder: string,
  ) {}

  get work(): string {
    return join(this.folder, 'work')
  }

  /** Returns exit code and output of git. It authenticates as the run. */
  async git(...args: string[]): Promise<{ code: number; text: string }> {
    const env = {
      PATH: process.env.PATH,
      HOME: this.folder,
      GIT_TERMINAL_PROMPT: '0',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: `http.${this.hub.origin}/.extraHeader`,
      GIT_CONFIG_VALUE_0: `Authorization: Bearer ${this.token}`,
    }
    const cwd = args[0] === 'clone' ? this.folder : this.work
    const identity = ['-c', 'user.name=a', '-c', 'user.email=a@example.com']
    return execute('git', [...identity, ...args], { cwd, env }).then(
      ({ stdout, stderr }) => ({ code: 0, text: stdout + stderr }),
      ({ code, stdout, stderr }) => ({ code, text: stdout + stderr }),
    )
  }

  async setUp(next: GitSetUp = {}): Promise<void> {
    const body = JSON.stringify({ serviceUrl: this.service.url, ...next })
    const answer = await fetch(new URL('/set-up', this.hub), { method: 'POST', body })
    this.token = ((await answer.json()) as { token: string }).token
  }

  async takeAudit(): Promise<GitAudit[]> {
    return (await fetch(new URL('/audit', this.hub))).json() as Promise<GitAudit[]>
  }

  /** Returns what the agent's object was told of the pushes since the set-up. */
  async listCalls(): Promise<unknown[]> {
    return (await fetch(new URL('/calls', this.hub))).json() as Promise<unknown[]>
  }

  /** Returns the commits of the branches and tags at the service. */
  async listRefs(): Promise<Record<string, string>> {
    const bare = join(this.folder, 'served/acme/tools.git')
    const { stdout } = await execute('git', [
      '-C',
      bare,
      'for-each-ref',
      '--format=%(refname) %(objectname)',
    ])
    return Object.fromEntries(
      stdout
        .trim()
        .split('\n')
        .map((line) => line.split(' ')),
    )
  }

  async commit(name: string, content: string | Buffer = name): Promise<void> {
    writeFileSync(join(this.work, name), content)
    await this.git('add', '.')
    expect((await this.git('commit', '-m', name)).code).toBe(0)
  }

  post(path: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) {
    return fetch(new URL(path, this.hub), {
      method: 'POST',
      body,
      headers: {
        authorization: `Bearer ${this.token}`,
        'content-type': `application/x-${path.split('/').at(-1)}-request`,
        ...headers,
      },
    })
  }
}

export async function withGitWorld(use: (world: GitWorld) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'rookery-git-'))
  mkdirSync(join(folder, 'served/acme'), { recursive: true })
  for (const name of ['tools', 'other']) {
    const bare = join(folder, `served/acme/${name}.git`)
    await execute('git', ['init', '-q', '--bare', '-b', 'main', bare])
    await execute('git', ['-C', bare, 'config', 'receive.advertisePushOptions', 'true'])
  }
  const seed = join(folder, 'seed')
  await execute('git', ['clone', '-q', join(folder, 'served/acme/tools.git'), seed])
  writeFileSync(join(seed, 'README.md'), 'Tools')
  await execute('git', ['-C', seed, 'add', '.'])
  const identity = ['-c', 'user.name=a', '-c', 'user.email=a@example.com']
  await execute('git', ['-C', seed, ...identity, 'commit', '-qm', 'Begin'])
  await execute('git', ['-C', seed, 'push', '-q', 'origin', 'HEAD:main'])
  const service = await startGitServer(join(folder, 'served'))
  try {
    await withWorker(await bundle(entry), {}, async (hub: URL) => {
      const world = new GitWorld(hub, service, folder)
      await world.setUp()
      const address = new URL('/git/github/acme/tools', hub).href
      const cloned = await world.git('clone', address, 'work')
      expect(cloned.text).toContain('Cloning')
      expect(cloned.code, cloned.text).toBe(0)
      await use(world)
    })
  } finally {
    service.close()
    rmSync(folder, { recursive: true, force: true })
  }
}
