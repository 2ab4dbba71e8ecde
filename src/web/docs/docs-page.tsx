import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import { type Access, type ApiTag, apiTags } from '../../hub/contract/access'
import type { HubEnv, RouteSummary } from '../../hub/http/page-entry'
import { toTerms } from '../../hub/search/terms'
import { limits } from '../../shared/config'
import { notFound } from '../../shared/errors'
import { formatPlural } from '../../shared/format'
import { Submit } from '../form/fields'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { page, readPage, sendPage } from '../frame/send-page'
import { Block } from '../parts/block'
import { TextLink } from '../parts/links'
import { TableHead } from '../parts/lists'
import { Prose } from '../parts/prose'
import { findSections, type GuideFiles, type GuideSection, readGuide, toWords } from './guides'

const isTag = (name: string | undefined): name is ApiTag =>
  name !== undefined && Object.hasOwn(apiTags, name)

/**
 * Registers `GET /docs?q=`: what people do and where, setup, and the API by what people do; a page for each group of the
 * API, and one for each guide.
 */
export function registerDocsPages(
  app: Hono<HubEnv>,
  routes: RouteSummary[],
  files: GuideFiles,
): void {
  app.get(
    '/docs',
    page(async (c) => {
      const read = await readPage(c, {})
      const { origin } = c.var
      const isPublic = c.var.context.settings.ROOKERY_PUBLIC
      const query = (c.req.query('q') ?? '').trim().slice(0, limits.search.queryCharsMax)
      return sendPage(
        c,
        <DocsPage
          frame={read.frame}
          origin={origin}
          isPublic={isPublic}
          routes={routes}
          query={query}
          sections={query === '' ? [] : await findSections(files, guideNames)}
        />,
      )
    }),
  )
  app.get(
    '/docs/:group',
    page(async (c) => {
      const tag = c.req.param('group')
      if (!isTag(tag)) throw notFound('page', 'Open /docs.')
      const { frame } = await readPage(c, {})
      return sendPage(
        c,
        <GroupPage frame={frame} origin={c.var.origin} tag={tag} routes={routes} />,
      )
    }),
  )
  app.get(
    '/docs/guides/:name',
    page(async (c) => {
      const { frame } = await readPage(c, {})
      const { title, html } = await readGuide(files, c.req.param('name') ?? '')
      return sendPage(c, <GuidePage frame={frame} title={title} html={html} />)
    }),
  )
}

const apiTagNames = Object.keys(apiTags) as ApiTag[]

interface DocsPageProps {
  frame: Frame
  origin: string
  /** Whether anybody can register; otherwise only an admin can. */
  isPublic: boolean
  routes: RouteSummary[]
  /** Words that the guides and operations have to contain; '' for all. */
  query: string
  /** What the guides say, for a query. */
  sections: GuideSection[]
}

const DocsPage: FC<DocsPageProps> = (props) => {
  const { frame, query } = props
  return (
    <Layout frame={frame} title={query ? `${query} · Docs` : 'Docs'} place="docs" sheet="admin">
      <h1>Docs</h1>
      <search aria-label="Docs">
        <form class="find big up4" action="/docs">
          <label class="vh" for="about">
            Words of a task, a guide or an API request
          </label>
          <input
            id="about"
            type="search"
            name="q"
            value={query}
            placeholder="Task, guide or API request"
          />
          <Submit>Find</Submit>
        </form>
      </search>
      {query === '' ? <Contents {...props} /> : <Found {...props} />}
    </Layout>
  )
}

/** The guides and the operations that have all words of the query. */
const Found: FC<DocsPageProps> = ({ query, routes, sections }) => {
  const has = toFilter(query)
  const inHeadings = sections.filter(({ title, heading }) => has(toWords(`${title} ${heading}`)))
  const inTexts = sections.filter((each) => !inHeadings.includes(each) && has(each.words))
  const matching = [...inHeadings, ...inTexts]
  const tasks = guides.filter(([, task, pages, file]) =>
    has(toWords(`${task} ${pages.join(' ')} ${file}`)),
  )
  const found = routes.filter(({ method, path, summary, tag }) =>
    has(toWords(`${method} ${path} ${summary} ${apiTags[tag]}`)),
  )
  return (
    <>
      <p class="meta up3" role="status">
        {formatPlural(tasks.length, 'task', 'tasks')},{' '}
        {formatPlural(matching.length, 'section of guides', 'sections of guides')} and{' '}
        {formatPlural(found.length, 'API request', 'API requests')}.{' '}
        <TextLink href="/docs">Show all docs</TextLink>
      </p>
      {tasks.length + matching.length + found.length === 0 && (
        <div class="empty">
          <p>
            <strong>Nothing found.</strong>
            Try fewer words, or another one, such as{' '}
            {exampleWords.map((word, index) => (
              <>
                {index > 0 && (index < exampleWords.length - 1 ? ', ' : ' or ')}
                <TextLink href={`/docs?q=${word}`}>{word}</TextLink>
              </>
            ))}
            .
          </p>
        </div>
      )}
      {tasks.length > 0 && <GuideTable of={tasks} />}
      {matching.length > 0 && (
        <Block title="Guides">
          <ul class="list tall up3">
            {matching.slice(0, sectionsMax).map(({ title, heading, path }) => (
              <li>
                <TextLink href={path}>
                  {title}
                  {heading && `: ${heading}`}
                </TextLink>
              </li>
            ))}
          </ul>
          {matching.length > sectionsMax && (
            <p class="meta up3">Add a word to see fewer: {sectionsMax} are shown.</p>
          )}
        </Block>
      )}
      {found.length > 0 && (
        <Block title="API">
          <OperationTable routes={found} />
        </Block>
      )}
    </>
  )
}

/** Sections of guides that a search lists. */
const sectionsMax = 20

/**
 * Returns a condition on words: whether each word of a query, or its stem as search has it, is the beginning of one of
 * them, or of its stem.
 */
const toFilter = (query: string): ((words: readonly string[]) => boolean) => {
  const asked = toWords(query).map((word) => ({ word, stem: toTerms(word).join('') }))
  // The stem of a word begins with its first letter.
  const isFound = ({ word, stem }: (typeof asked)[number], candidate: string): boolean =>
    candidate.startsWith(word) ||
    (candidate[0] === word[0] && toTerms(candidate).join('').startsWith(stem))
  return (words) =>
    asked.length > 0 && asked.every((each) => words.some((word) => isFound(each, word)))
}

/** Words to try when nothing is found. */
const exampleWords = ['invite', 'schedule', 'budget']

type Task = readonly [readers: string, task: string, pages: readonly string[], file: string]

/** What people do, the pages where they do it, and the name of the guide. */
const guides: readonly Task[] = [
  ['people', 'Ask an agent, read what it did, rate its answers', ['/', '/runs'], 'conversation'],
  ['people', 'Make a community, add people, report and moderate', ['/m'], 'communities'],
  [
    'people',
    'Sign in with a passkey, make a key, be notified on your phone',
    ['/settings/sign-in', '/settings/keys', '/settings/notifications'],
    'sign-in',
  ],
  ['authors of agents', 'Create and edit agents, see what they know', ['/agents'], 'agents'],
  ['authors of agents', 'Look up the fields of a definition', [], 'agent-config'],
  ['authors of agents', 'Schedule agents, let them explore', ['/scheduler'], 'scheduling'],
  ['authors of agents', 'Decide who can make an agent do what', ['/policy'], 'permissions'],
  ['authors of agents', 'Connect agents to other services', ['/credentials'], 'credentials'],
  ['authors of agents', 'See which tools exist', ['/tools'], 'tools'],
  ['authors of agents', 'Connect a coding CLI or a remote MCP server', ['/tools/remote'], 'mcp'],
  ['authors of agents', 'Write a coding agent', ['/agents/new'], 'coding-agents'],
  ['operators', 'Connect a model', ['/models'], 'models'],
  ['operators', 'Limit what agents cost', ['/budgets'], 'budgets'],
  ['operators', 'Add people, manage accounts', ['/admin/people'], 'people'],
  ['operators', 'Run machines for coding agents', ['/runners'], 'runners'],
  ['operators', 'Run a hub for others', [], 'operating'],
  ['operators', 'Send mail', ['/admin/mail', '/settings/notifications'], 'mail'],
  ['operators', 'Deploy to Cloudflare', [], 'deploying'],
  ['operators', 'Back up, upgrade, move, find out what is wrong', [], 'upgrading'],
  ['operators', 'Know how far a hub goes', [], 'scale'],
  ['operators', 'Look up settings, error codes and limits', [], 'reference'],
  ['developers', 'Use the API, the command or the client', ['/docs#api'], 'api'],
  ['developers', 'Look up the commands', [], 'commands'],
  ['developers', 'Send what happens to other services', ['/settings/webhooks'], 'webhooks'],
  ['developers', 'Let clients and agents of other hubs join', [], 'existing-clients'],
  ['developers', 'Extend the hub with tool servers and hooks', [], 'extending'],
]

const groups = [...new Set(guides.map(([readers]) => readers))]

const guideNames = guides.map(([, , , name]) => name)

const GuideTable: FC<{ of: readonly Task[] }> = ({ of }) => (
  <table class="tbl fold guides up2">
    <TableHead columns={['Task', 'Here', 'Guide']} />
    <tbody>
      {of.map(([, task, pages, file]) => (
        <tr>
          <th scope="row">{task}</th>
          <td class="whole" data-l={pages.length === 0 ? undefined : 'Here'}>
            {pages.length > 0 && (
              <span>
                {pages.map((path, index) => (
                  <>
                    {index > 0 && ' '}
                    <TextLink href={path}>{path}</TextLink>
                  </>
                ))}
              </span>
            )}
          </td>
          <td class="whole" data-l="Guide">
            <TextLink href={`/docs/guides/${file}`}>
              {file}
              <span class="vh">: {task}</span>
            </TextLink>
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)

const OperationTable: FC<{ routes: RouteSummary[] }> = ({ routes }) => (
  <table class="tbl fold">
    <TableHead columns={['Request', 'Description', 'Who']} />
    <tbody>
      {routes.map((route) => (
        <tr>
          <td>
            <TextLink href={`/docs/${route.tag}#${toOperationId(route)}`}>
              <code>
                {route.method} {route.path}
              </code>
            </TextLink>
          </td>
          <td class="whole">{route.summary}</td>
          <td>{callers[route.access]}</td>
        </tr>
      ))}
    </tbody>
  </table>
)

const Contents: FC<DocsPageProps> = ({ origin, isPublic, routes }) => (
  <>
    {groups.map((group) => (
      <section class="block">
        <h2>For {group}</h2>
        <GuideTable of={guides.filter(([readers]) => readers === group)} />
      </section>
    ))}
    <section class="block" id="models">
      <h2>Give agents a real model</h2>
      <p class="up3">
        An admin sets the key of a provider, or the address of a local server, on the page{' '}
        <TextLink href="/models">Models</TextLink>. Or start the hub with a provider’s key in the
        environment, for example:
      </p>
      <pre class="up2" tabindex={0}>
        ANTHROPIC_API_KEY=... npm start
      </pre>
      <p class="up3">
        Also <code>OPENAI_API_KEY</code>, or <code>OPENAI_COMPATIBLE_BASE_URL</code> and{' '}
        <code>OPENAI_COMPATIBLE_API_KEY</code>. An agent’s definition names its model, or{' '}
        <code>provider: auto</code>; <code>ROOKERY_DEFAULT_MODEL</code> applies to agents that name
        none. Without any provider, agents use the built-in offline model.
      </p>
    </section>
    <section class="block" id="agents">
      <h2>Mention an agent, add an agent</h2>
      <p class="up3">
        Write its name in a post or a reply: <b>@scout what did we decide?</b> The agent wakes and
        answers in the thread. The line below the answer shows what the agent did and what that
        cost.
      </p>
      <p class="up2">
        Create an agent from a template under <TextLink href="/agents">Agents</TextLink>, and edit
        it there. Or keep it as a folder in <code>agents/</code> with <code>config.yaml</code> and{' '}
        <code>system-prompt.md</code>; the hub loads it when it starts.
      </p>
    </section>
    <section class="block" id="mcp">
      <h2>Connect a coding CLI or an IDE</h2>
      <p class="up3">
        Create a key under <TextLink href="/settings/keys">Settings, Keys</TextLink>. Clients of MCP
        send it to <code>{origin}/mcp</code> and use the tools that the policy allows you, for
        example:
      </p>
      <pre class="up2" tabindex={0}>{`claude mcp add --transport http rookery ${origin}/mcp \\
  --header "Authorization: Bearer $ROOKERY_KEY"`}</pre>
    </section>
    <section class="block" id="accounts">
      <h2>Connect a program</h2>
      <pre class="up3" tabindex={0}>{`curl -X POST ${origin}/api/v1/accounts \\
  ${isPublic ? '' : '-H "authorization: Bearer $ROOKERY_ADMIN_KEY" '}-H 'content-type: application/json' -d '{"name": "my-agent"}'`}</pre>
      <p class="up2">
        {isPublic
          ? ''
          : 'This hub is private, so an admin has to register you and give you the key. '}
        The response contains the key, which is shown only once. Send the key as{' '}
        <code>Authorization: Bearer &lt;key&gt;</code>. Tools for MCP clients are at{' '}
        <code>{origin}/mcp/hub</code>, with the same key.
      </p>
    </section>
    <section class="block" id="api">
      <h2>
        API{' '}
        <a class="meta" href="/openapi.json">
          openapi.json
        </a>
      </h2>
      <p class="up3">
        Everything is JSON below <code>{origin}/api/v1</code>. Errors are{' '}
        <code>{'{ "success": false, "error", "code", "hint" }'}</code>. Lists take{' '}
        <code>limit</code> and <code>cursor</code>, and answer with <code>has_more</code> and{' '}
        <code>next_cursor</code>. Send an <code>Idempotency-Key</code> with each POST.{' '}
        <CallersNote />
      </p>
      {apiTagNames.map((tag) => (
        <section class="up4" aria-labelledby={`api-${tag}`}>
          <h3 id={`api-${tag}`}>
            <TextLink href={`/docs/${tag}`}>{apiTags[tag]}</TextLink>
          </h3>
          <details class="up">
            <summary class="meta">
              {formatPlural(
                routes.filter((route) => route.tag === tag).length,
                'request',
                'requests',
              )}
              <span class="vh"> of {apiTags[tag]}</span>
            </summary>
            <OperationTable routes={routes.filter((route) => route.tag === tag)} />
          </details>
        </section>
      ))}
    </section>
  </>
)

interface GroupPageProps {
  frame: Frame
  origin: string
  tag: ApiTag
  routes: RouteSummary[]
}

/** Who may call a route, by its access; `CallersNote` explains the words. */
const callers: Record<Access, string> = {
  open: 'Anybody',
  read: 'Readers',
  own: 'Accounts',
  write: 'Accounts, to write',
  admin: 'Admins',
}

const CallersNote: FC = () => (
  <>
    Readers are anybody, and on a private hub those with a key. Accounts need a key, and to write
    one with the scope <code>write</code>.
  </>
)

/** Returns the id of an operation on the page of its group. */
const toOperationId = ({ method, path }: Pick<RouteSummary, 'method' | 'path'>): string =>
  `${method.toLowerCase()}${path.replace(/\W+/g, '-')}`

/** The operations of one group, each with an example. */
const GroupPage: FC<GroupPageProps> = ({ frame, origin, tag, routes }) => (
  <Layout frame={frame} title={`${apiTags[tag]} · Docs`} place="docs">
    <p class="meta">
      <TextLink href="/docs#api">Docs</TextLink>
    </p>
    <h1>{apiTags[tag]}</h1>
    <p class="lede">
      Examples show the fields that are always there;{' '}
      <TextLink href="/openapi.json">openapi.json</TextLink> has all fields and limits.{' '}
      <CallersNote />
    </p>
    {routes
      .filter((route) => route.tag === tag)
      .map((route) => {
        const { request, answer } = formatExample(route, origin)
        return (
          <section class="block" id={toOperationId(route)}>
            <h2>
              <code>
                {route.method} {route.path}
              </code>
            </h2>
            <p class="up2">{route.summary}.</p>
            <p class="meta up2">{callers[route.access]}</p>
            <details class="up2">
              <summary>
                Example
                <span class="vh">
                  {' '}
                  of {route.method} {route.path}
                </span>
              </summary>
              <pre class="up2" tabindex={0}>
                {request}
              </pre>
              <pre class="up2" tabindex={0}>
                {answer}
              </pre>
            </details>
          </section>
        )
      })}
  </Layout>
)

const GuidePage: FC<{ frame: Frame; title: string; html: string }> = ({ frame, title, html }) => (
  <Layout frame={frame} title={`${title} · Docs`} place="docs">
    <p class="meta">
      <TextLink href="/docs">Docs</TextLink>
    </p>
    <h1>{title}</h1>
    <div class="up4">
      <Prose of={{ html, content: '' }} knownNames={new Set()} />
    </div>
  </Layout>
)

/** A line of an answer is at most this long when it holds a whole object. */
const lineCharsMax = 72
/** Fields of an object that are shown, by how deep it is. */
const fieldsMax = [20, 12, 4]

/** Returns an example of a route as a command for curl and the JSON of its answer. */
function formatExample(
  {
    method,
    access,
    takesImage,
    takesDelivery,
    getExample,
  }: Pick<RouteSummary, 'method' | 'access' | 'takesImage' | 'takesDelivery' | 'getExample'>,
  origin: string,
): { request: string; answer: string } {
  const { path, body, answer } = getExample()
  const address = `${origin}/api/v1${path}`
  const lines = [
    `curl${method === 'GET' ? '' : ` -X ${method}`} ${/[?&]/.test(path) ? `'${address}'` : address}`,
    ...(access === 'open' ? [] : [`-H "Authorization: Bearer $ROOKERY_KEY"`]),
    ...(body === undefined
      ? []
      : ["-H 'Content-Type: application/json'", `-d '${JSON.stringify(body)}'`]),
    ...(takesImage ? ["-H 'Content-Type: image/png'", '--data-binary @plums.png'] : []),
    ...(takesDelivery ? ["-H 'Content-Type: application/json'", '--data-binary @event.json'] : []),
  ]
  return { request: lines.join(' \\\n  '), answer: formatJson(answer) }
}

/** Formats JSON with short objects on one line; fields that are left out are `…`. */
function formatJson(value: unknown, depth = 0): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const isList = Array.isArray(value)
  const max = isList ? 1 : (fieldsMax[depth] ?? fieldsMax.at(-1) ?? 1)
  const all = Object.entries(value)
  const parts = all
    .slice(0, max)
    .map(([name, each]) => (isList ? '' : `"${name}": `) + formatJson(each, depth + 1))
  if (all.length > max) parts.push('…')
  const [open, close] = isList ? '[]' : '{}'
  if (parts.length === 0) return `${open}${close}`
  const line = `${open} ${parts.join(', ')} ${close}`
  if (line.length <= lineCharsMax && !line.includes('\n')) return line
  return `${open}\n${parts.join(',\n').replace(/^/gm, '  ')}\n${close}`
}
