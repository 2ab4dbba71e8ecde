/** GitHub's responses to documented paths. */
import { comment, file, issue, type Json, pull, repo } from './github-shapes.ts'

/** How the next request with this method fails. */
export interface GithubPlan {
  method: string
  status?: number
  headers?: Record<string, string>
  body?: unknown
  /** The request succeeds, and its response is lost. */
  isLost?: boolean
  /** The request succeeds, and no response is ever sent. */
  isHeld?: boolean
}

export interface Hub {
  /** Whether a branch is there; GitHub opens no pull request of another one. */
  hasBranch(name: string): boolean
  log: { method: string; path: string; authorization: string; version: string; body: Json | null }[]
  plan: GithubPlan[]
  issues: Json[]
  comments: Json[]
  pulls: Json[]
  dispatches: Json[]
}

export const createHub = (): Hub => ({
  hasBranch: () => true,
  log: [],
  plan: [],
  issues: [],
  comments: [],
  pulls: [],
  dispatches: [],
})

export interface Asked {
  hub: Hub
  url: URL
  body: Json
  parts: string[]
}

export interface Answer {
  status: number
  body?: unknown
  headers?: Record<string, string>
}

export const ok = (body: unknown, headers = {}): Answer => ({ status: 200, body, headers })
const notFound: Answer = {
  status: 404,
  body: { message: 'Not Found', documentation_url: 'https://docs.github.com/rest', status: '404' },
}
const invalid = (errors: Json[]): Answer => ({
  status: 422,
  body: { message: 'Validation Failed', errors, documentation_url: 'https://docs.github.com/rest' },
})

/** Returns a page of a list, with the `link` header to the next one. */
function page({ url }: Asked, items: unknown[]): Answer {
  const size = Number(url.searchParams.get('per_page') ?? 30)
  const number = Number(url.searchParams.get('page') ?? 1)
  const shown = items.slice((number - 1) * size, number * size)
  const next = new URL(url)
  next.searchParams.set('page', String(number + 1))
  const hasNext = number * size < items.length
  return ok(
    shown,
    hasNext ? { link: `<${next.href}>; rel="next", <${next.href}>; rel="last"` } : {},
  )
}

const newestFirst = (items: Json[]) =>
  items.toSorted((a, b) => Number(b.number ?? b.id) - Number(a.number ?? a.id))
const ofState = ({ url }: Asked, items: Json[]) => {
  const state = url.searchParams.get('state') ?? 'open'
  const head = url.searchParams.get('head')
  return items
    .filter((each) => state === 'all' || each.state === state)
    .filter((each) => head === null || (each.head as Json).label === head)
}

type Route = [method: string, pattern: RegExp, answer: (asked: Asked) => Answer]

const routes: Route[] = [
  ['GET', /^\/user\/repos$/, (asked) => page(asked, [repo('acme', 'tools'), repo('ada', 'notes')])],
  [
    'GET',
    /^\/orgs\/([^/]+)\/repos$/,
    (asked) => (asked.parts[0] === 'acme' ? page(asked, [repo('acme', 'tools')]) : notFound),
  ],
  [
    'GET',
    /^\/users\/([^/]+)\/repos$/,
    (asked) => page(asked, [repo(asked.parts[0] ?? '', 'notes')]),
  ],
  ['GET', /^\/search\/code$/, (asked) => search(asked)],
  ['GET', /^\/repos\/([^/]+)\/([^/]+)\/contents\/?(.*)$/, ({ parts }) => contents(parts)],
  [
    'GET',
    /^\/repos\/[^/]+\/[^/]+\/issues$/,
    (asked) => page(asked, newestFirst(ofState(asked, [...asked.hub.pulls, ...asked.hub.issues]))),
  ],
  ['POST', /^\/repos\/([^/]+)\/([^/]+)\/issues$/, (asked) => createIssue(asked)],
  [
    'GET',
    /^\/repos\/[^/]+\/[^/]+\/issues\/comments$/,
    (asked) => page(asked, newestFirst(asked.hub.comments)),
  ],
  [
    'GET',
    /^\/repos\/[^/]+\/[^/]+\/issues\/(\d+)$/,
    ({ hub, parts }) => {
      const found = hub.issues.find(({ number }) => String(number) === parts[0])
      return found ? ok(found) : notFound
    },
  ],
  [
    'GET',
    /^\/repos\/[^/]+\/[^/]+\/issues\/(\d+)\/comments$/,
    (asked) =>
      page(
        asked,
        asked.hub.comments.filter(({ issue_url }) =>
          String(issue_url).endsWith(`/${asked.parts[0]}`),
        ),
      ),
  ],
  ['POST', /^\/repos\/([^/]+)\/([^/]+)\/issues\/(\d+)\/comments$/, (asked) => createComment(asked)],
  [
    'GET',
    /^\/repos\/[^/]+\/[^/]+\/pulls$/,
    (asked) => page(asked, newestFirst(ofState(asked, asked.hub.pulls))),
  ],
  ['POST', /^\/repos\/([^/]+)\/([^/]+)\/pulls$/, (asked) => createPull(asked)],
  [
    'GET',
    /^\/repos\/[^/]+\/[^/]+\/pulls\/(\d+)$/,
    ({ hub, parts }) => {
      const found = hub.pulls.find(({ number }) => String(number) === parts[0])
      return found ? ok(found) : notFound
    },
  ],
  [
    'GET',
    /^\/repos\/[^/]+\/[^/]+\/pulls\/(\d+)\/files$/,
    (asked) =>
      page(asked, [file('src/a.ts', 'x'.repeat(15_000)), file('src/b.ts', 'y'.repeat(15_000))]),
  ],
  [
    'POST',
    /^\/repos\/[^/]+\/[^/]+\/actions\/workflows\/([^/]+)\/dispatches$/,
    ({ hub, parts, body }) => {
      if (parts[0] !== 'release.yml') return notFound
      hub.dispatches.push(body)
      return { status: 204 }
    },
  ],
]

function search(asked: Asked): Answer {
  const query = asked.url.searchParams.get('q') ?? ''
  const item = {
    name: 'retry.ts',
    path: 'src/retry.ts',
    sha: 'a'.repeat(40),
    score: 1,
    html_url: 'https://github.com/acme/tools/blob/main/src/retry.ts',
    repository: repo('acme', 'tools'),
    text_matches: [{ fragment: `found ${query}`, property: 'content', matches: [] }],
  }
  return ok({ total_count: 41, incomplete_results: false, items: [item] })
}

function contents([, , path = '']: string[]): Answer {
  const name = decodeURIComponent(path)
  const content = files[name]
  if (name === '') {
    return ok(
      Object.keys(files).map((each) => ({
        name: each,
        path: each,
        type: 'file',
        size: 9,
        url: 'x',
      })),
    )
  }
  if (content === undefined) return notFound
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content
  return ok({
    type: 'file',
    encoding: 'base64',
    size: bytes.length,
    name,
    path: name,
    sha: 'b'.repeat(40),
    // In lines of 60 characters, like GitHub.
    content: btoa(
      String.fromCharCode(...bytes.slice(0, 60_000)) + String.fromCharCode(...bytes.slice(60_000)),
    ).replace(/.{60}/g, '$&\n'),
    url: 'https://api.github.com/x',
    _links: { self: 'x', git: 'x', html: 'x' },
  })
}

const files: Record<string, string | Uint8Array> = {
  'README.md': '# Tools\n\nA grüner Anfang.\n',
  'src/deep/a b.ts': 'export const a = 1\n',
  'long.txt': 'line\n'.repeat(20_000),
  'logo.png': Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0, 0xff, 0xfe]),
}

function createIssue({ hub, parts, body }: Asked): Answer {
  if (!body.title) return invalid([{ resource: 'Issue', field: 'title', code: 'missing_field' }])
  const number = hub.issues.length + hub.pulls.length + 1
  const made = issue(parts.join('/'), number, body)
  hub.issues.push(made)
  return { status: 201, body: made }
}

function createComment({ hub, parts, body }: Asked): Answer {
  const [owner, name, number] = parts
  const made = comment(
    `${owner}/${name}`,
    Number(number),
    hub.comments.length + 1,
    String(body.body),
  )
  hub.comments.push(made)
  return { status: 201, body: made }
}

function createPull({ hub, parts, body }: Asked): Answer {
  const label = String(body.head).includes(':') ? String(body.head) : `${parts[0]}:${body.head}`
  if (!hub.hasBranch(label.split(':')[1] ?? '')) {
    return invalid([{ resource: 'PullRequest', field: 'head', code: 'invalid' }])
  }
  const isThere = hub.pulls.some(({ head }) => (head as Json).label === label)
  if (isThere) {
    const message = `A pull request already exists for ${label}.`
    return invalid([{ resource: 'PullRequest', code: 'custom', message }])
  }
  const number = hub.issues.length + hub.pulls.length + 1
  const made = pull(parts.join('/'), number, { ...body, label })
  hub.pulls.push(made)
  return { status: 201, body: made }
}

export function answerGithub(asked: Asked, method: string, path: string): Answer {
  for (const [routeMethod, pattern, run] of routes) {
    const match = routeMethod === method ? pattern.exec(path) : null
    if (match) return run({ ...asked, parts: match.slice(1) })
  }
  return notFound
}
