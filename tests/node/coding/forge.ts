import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setBranches, startFakeGithub } from '../../support/fake-github.ts'
import { startGitServer } from '../git-server.ts'
import type { CodingHub } from './coding-hub.ts'

/** Creates bare repositories with one commit on `main`. */
function createRepositories(root: string): void {
  mkdirSync(join(root, 'acme'), { recursive: true })
  const env = { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' }
  const git = (...args: string[]) => execFileSync('git', args, { env, stdio: 'pipe' })
  const seed = join(root, 'seed')
  git('init', '-q', '-b', 'main', seed)
  writeFileSync(join(seed, 'readme.md'), 'hello\n')
  git('-C', seed, 'add', '-A')
  git('-C', seed, '-c', 'user.name=m', '-c', 'user.email=m@example.com', 'commit', '-qm', 'First')
  for (const name of ['tools', 'other'])
    git('clone', '-q', '--bare', seed, join(root, `acme/${name}.git`))
}

/** Starts a git server with `acme/tools` and `acme/other`, and sets it up as the hub's service `forge`. */
export async function startForge(hub: CodingHub) {
  const root = join(hub.folder, 'git')
  createRepositories(root)
  const service = await startGitServer(root)
  const reach = { allow_private: true, allow_http: true }
  await hub.api('PUT', '/services/git/forge', { base_url: service.url, ...reach })
  await hub.api('PUT', '/credentials/forge-token', {
    server: 'git',
    service: 'forge',
    value: 'octo:secret-of-the-service',
  })
  return { ...service, bare: join(root, 'acme/tools.git') }
}

/** Sets the same repositories up as those of GitHub, with a GitHub that has no pull request yet. */
export async function startGithub(hub: CodingHub, forge: { url: string; bare: string }) {
  const service = await startFakeGithub()
  setBranches('github', (name) => {
    const found = execFileSync('git', ['-C', forge.bare, 'branch', '--list', name])
    return found.length > 0
  })
  const url = `${service.url}/github`
  const reach = { allow_private: true, allow_http: true }
  await hub.api('PUT', '/services/git/github', { base_url: forge.url, ...reach })
  await hub.api('PUT', '/services/github/github', { base_url: url, ...reach })
  for (const server of ['git', 'github']) {
    await hub.api('PUT', `/credentials/${server}-of-github`, {
      server,
      service: 'github',
      value: 'token-of-the-service',
    })
  }
  const readPulls = async (): Promise<{ html_url: string; head: { ref: string } }[]> => {
    const response = await fetch(`${url}/_state`)
    return ((await response.json()) as { pulls: [] }).pulls
  }
  return { close: () => service.close(), readPulls }
}
