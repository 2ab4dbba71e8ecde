import { toRepositoryName } from '../git/repository-name'

/** A request of git's smart HTTP protocol. */
export interface GitRequest {
  kind: 'fetch_refs' | 'fetch_objects' | 'begin_push' | 'push'
  service: string
  /** `owner/name` without `.git`: what is checked is what the path names. */
  repository: string
  /** Below the repository's address, with the query. */
  path: string
  query: Record<string, string>
}

const shape =
  /^\/git\/([a-z][a-z0-9-]{0,39})\/([A-Za-z0-9_.-]{1,100})\/([A-Za-z0-9_.-]{1,100})\/(info\/refs|git-upload-pack|git-receive-pack)$/

/** Returns what a request asks for; null when it is none of the three that git sends. */
export function readGitRequest({ method, url }: Request): GitRequest | null {
  const { pathname, search } = new URL(url)
  const [, service, owner, file, path] = shape.exec(pathname) ?? []
  const kind = path === undefined ? null : findKind(method, path, search)
  if (!service || !owner || !file || !path || !kind) return null
  const repository = toRepositoryName(service, owner, file)
  if (repository === null) return null
  return {
    kind,
    service,
    repository,
    path: `/${repository}.git/${path}`,
    query: Object.fromEntries(new URLSearchParams(search)),
  }
}

function findKind(method: string, path: string, search: string): GitRequest['kind'] | null {
  if (method === 'GET' && path === 'info/refs') {
    if (search === '?service=git-upload-pack') return 'fetch_refs'
    if (search === '?service=git-receive-pack') return 'begin_push'
  }
  if (method !== 'POST' || search !== '') return null
  if (path === 'git-upload-pack') return 'fetch_objects'
  return path === 'git-receive-pack' ? 'push' : null
}
