import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
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
    ...{ server: 'git', service: 'forge', value: 'octo:secret-of-the-service' },
  })
  return { ...service, bare: join(root, 'acme/tools.git') }
}
