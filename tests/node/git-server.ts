/** A git server over HTTP: Debian's `git http-backend`, called as a CGI program by Node. */
import { spawn } from 'node:child_process'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface GitServer {
  url: string
  /** `Authorization` of each request. */
  logins: (string | undefined)[]
  close(): void
}

/** Serves the bare repositories in a folder to whoever sends a login. */
export async function startGitServer(root: string): Promise<GitServer> {
  const logins: GitServer['logins'] = []
  const server = createServer((request, response) => {
    logins.push(request.headers.authorization)
    if (request.url?.startsWith('/acme/moved')) {
      response.writeHead(301, { location: `http://127.0.0.1:1${request.url}` }).end()
    } else if (request.headers.authorization === undefined) {
      request.resume()
      response.writeHead(401).end()
    } else answer(root, request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    logins,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

function answer(root: string, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? '/', 'http://git')
  const { headers } = request
  const length = headers['content-length']
  const program = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      REMOTE_USER: 'octo',
      REQUEST_METHOD: request.method,
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: headers['content-type'] ?? '',
      ...(length !== undefined && { CONTENT_LENGTH: length }),
      HTTP_CONTENT_ENCODING: headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(headers['git-protocol'] ?? ''),
    },
  })
  request.pipe(program.stdin)
  request.on('close', () => program.stdin.end())
  program.stdin.on('error', () => {})
  const parts: Buffer[] = []
  program.stdout.on('data', (part: Buffer) => parts.push(part))
  program.on('close', () => {
    const whole = Buffer.concat(parts)
    const end = whole.indexOf('\r\n\r\n')
    const head = whole.subarray(0, end).toString().split('\r\n')
    const fields = head.map((line) => line.split(': ') as [string, string])
    const status = Number(fields.find(([name]) => name === 'Status')?.[1].slice(0, 3) ?? 200)
    for (const [name, value] of fields) if (name !== 'Status') response.setHeader(name, value)
    response.writeHead(status).end(whole.subarray(end + 4))
  })
}
