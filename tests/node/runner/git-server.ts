import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

/** A git service over HTTP with one repository, `github/owner/name`, that asks for the token. */
export interface GitServer {
  url: string
  /** Requests without the token. */
  refused: number
  /** Runs git in the repository. */
  git(...args: string[]): string
  /** Makes a repository of a folder, with all that is in it. */
  init(folder: string): void
  close(): void
}

const env = {
  PATH: process.env.PATH,
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'mira',
  GIT_AUTHOR_EMAIL: 'mira@example.com',
  GIT_COMMITTER_NAME: 'mira',
  GIT_COMMITTER_EMAIL: 'mira@example.com',
}

export async function startGitServer(folder: string, token: string): Promise<GitServer> {
  const bare = join(folder, 'git/github/owner/name')
  const first = join(folder, 'first')
  mkdirSync(first, { recursive: true })
  const run = (cwd: string, ...args: string[]) =>
    execFileSync('git', args, { cwd, env, encoding: 'utf8' }).trim()
  const init = (path: string): void => {
    run(path, 'init', '-q', '-b', 'main')
    run(path, 'add', '-A')
    run(path, 'commit', '-q', '-m', 'First')
  }
  writeFileSync(join(first, 'readme.md'), 'hello\n')
  init(first)
  run(folder, 'clone', '-q', '--bare', first, bare)
  run(bare, 'config', 'http.receivepack', 'true')
  const git: GitServer = {
    url: '',
    refused: 0,
    git: (...args) => run(bare, ...args),
    init,
    close: () => server.close(),
  }
  const server = createServer((request, response) => {
    if (request.headers.authorization === `Bearer ${token}`) return serve(folder, request, response)
    git.refused++
    response.writeHead(403, { 'content-type': 'text/plain' }).end('no')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  git.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/git`
  return git
}

/** Answers by the program that git has for it. */
function serve(folder: string, request: IncomingMessage, response: ServerResponse): void {
  const { pathname, search } = new URL(request.url ?? '/', 'http://git')
  const child = spawn('git', ['http-backend'], {
    env: {
      ...env,
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: '1',
      REMOTE_USER: 'runner',
      REQUEST_METHOD: request.method,
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      HTTP_GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
    },
  })
  request.pipe(child.stdin)
  const chunks: Buffer[] = []
  child.stdout.on('data', (chunk) => chunks.push(chunk))
  child.on('close', () => {
    const all = Buffer.concat(chunks)
    const end = all.indexOf('\r\n\r\n')
    const headers = all.subarray(0, end).toString().split('\r\n')
    const pairs = headers.map((line) => line.split(': ') as [string, string])
    const status = pairs.find(([name]) => name === 'Status')?.[1] ?? '200'
    const fields = Object.fromEntries(pairs.filter(([name]) => name !== 'Status'))
    response.writeHead(Number.parseInt(status, 10), fields).end(all.subarray(end + 4))
  })
}
