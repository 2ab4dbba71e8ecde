import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import { giveGrants } from '../../hub/agents/definition-actions'
import type { Sender } from '../../hub/contract/hub'
import { type AccountPolicyRow, selectPolicies } from '../../hub/grants/queries'
import { type HubEnv, requireAdminViewer } from '../../hub/http/page-entry'
import type {
  RemoteToolChoice,
  RemoteToolText,
  ToolAdminApi,
} from '../../mcp-servers/contract/tool-admin'
import { AppError, notFound } from '../../shared/errors'
import { remoteServerPath, remoteToolPath } from '../../shared/paths'
import { ErrorSummary, Submit } from '../form/fields'
import { createForm, type FormProblem, rejectForm } from '../form/form-state'
import { readFields } from '../frame/read-form'
import { type PageContext, page } from '../frame/send-page'
import { TextLink } from '../parts/links'
import { handleAdminForm, type Rejection, readAdminPage, sendAdminPage } from './admin-page'
import {
  type ChosenTool,
  emptyMapping,
  Lines,
  MappingFields,
  RemotePage,
  RemoteServerPage,
  readChoice,
  readFilterValues,
  remotePath,
  type ServerForm,
  serverFields,
  serverForm,
  type ToolFilterValues,
  type TypedMapping,
  type TypedServer,
  toChoice,
  toolListPath,
  toServerInput,
  toToolFilter,
} from './remote-server-page'

type FormField = (name: string) => string

/** Tools of a page: they are chosen together, and their changes are read there. */
const toolsPerPage = 50

/** Registers the pages of remote MCP servers and their forms. */
export function registerRemotePages(app: Hono<HubEnv>, toolAdmin: ToolAdminApi): void {
  app.get(
    remotePath,
    page((c) => showServers(c, toolAdmin, shownFirst)),
  )
  app.get(
    `${remotePath}/:server`,
    page((c) =>
      showServer(c, toolAdmin, {
        ...shownFirst,
        server: c.req.param('server') ?? '',
        filter: readFilterValues((name) => c.req.query(name) ?? ''),
        cursor: c.req.query('cursor') ?? '',
        typed: emptyMapping,
      }),
    ),
  )
  app.get(
    `${remotePath}/:server/:tool`,
    page((c) =>
      showTool(c, toolAdmin, {
        ...shownFirst,
        server: c.req.param('server') ?? '',
        tool: c.req.param('tool') ?? '',
        typed: null,
      }),
    ),
  )
  app.post(
    remotePath,
    page((c) => addServer(c, toolAdmin)),
  )
  app.post(
    `${remotePath}/refresh`,
    page((c) =>
      actOnServer(c, toolAdmin, async (field, admin) => {
        await toolAdmin.refreshRemoteServer(admin, field('server'))
        const isOfList = field('from') === 'list'
        return isOfList ? `${remotePath}#${field('server')}` : remoteServerPath(field('server'))
      }),
    ),
  )
  app.post(
    `${remotePath}/remove`,
    page((c) =>
      actOnServer(c, toolAdmin, async (field, admin) => {
        await toolAdmin.deleteRemoteServer(admin, field('server'))
        return remotePath
      }),
    ),
  )
  app.post(
    `${remotePath}/tools`,
    page((c) => changeTools(c, toolAdmin)),
  )
  app.post(
    `${remotePath}/give`,
    page((c) => giveTools(c, toolAdmin)),
  )
  app.post(
    `${remotePath}/instructions`,
    page((c) =>
      actOnServer(c, toolAdmin, async (field, admin) => {
        const server = field('server')
        await toolAdmin.setRemoteInstructions(admin, { server, text: field('text') || null })
        return remoteServerPath(server)
      }),
    ),
  )
}

interface Shown {
  status: number
  problem: FormProblem | null
}

const shownFirst: Shown = { status: 200, problem: null }

async function showServers(
  c: PageContext,
  toolAdmin: ToolAdminApi,
  { status, problem, form = null }: Shown & { form?: ServerForm | null },
): Promise<Response> {
  const { frame, answers } = await readAdminPage(c, {
    servers: toolAdmin.selectRemoteServers(),
    counts: toolAdmin.selectRemoteToolCounts(),
  })
  const body = <RemotePage {...answers} problem={problem} form={form} />
  return sendAdminPage(c, { frame, title: 'Remote MCP servers', tab: 'tools', status, body })
}

/** A server with all its tools, from the first page on. */
const firstPage = (server: string) => ({
  server,
  filter: readFilterValues(() => ''),
  cursor: '',
  typed: emptyMapping,
})

interface ShownServer extends Shown {
  server: string
  filter: ToolFilterValues
  cursor: string
  typed: TypedMapping
}

async function showServer(
  c: PageContext,
  toolAdmin: ToolAdminApi,
  { status, problem, server: name, filter, cursor, typed }: ShownServer,
): Promise<Response> {
  const query = { ...toToolFilter(filter), server: name, limit: toolsPerPage, cursor }
  const { frame, answers } = await readAdminPage(c, {
    server: toolAdmin.selectRemoteServer(name),
    tools: toolAdmin.selectRemoteTools(query),
    version: toolAdmin.selectRemoteVersion(),
    policies: selectPolicies({ name: null }),
  })
  const { server, tools, version, policies } = answers
  if (!server) throw notFound('remote server')
  const agents = listAgents(policies, tools.grants)
  const body = (
    <RemoteServerPage
      {...tools}
      server={server}
      agents={agents}
      version={version}
      filter={filter}
      cursor={cursor}
      problem={problem}
      typed={typed}
    />
  )
  return sendAdminPage(c, { frame, title: name, tab: 'tools', status, body })
}

const listAgents = (policies: AccountPolicyRow[], grants: string[]) =>
  policies.flatMap(({ name, requested }) =>
    requested == null ? [] : [{ name, hasAll: grants.every((grant) => requested.includes(grant)) }],
  )

interface ShownTool extends Shown {
  server: string
  tool: string
  /** Null: what the tool has now. */
  typed: TypedMapping | null
}

async function showTool(
  c: PageContext,
  toolAdmin: ToolAdminApi,
  { status, problem, server, tool: name, typed }: ShownTool,
): Promise<Response> {
  const { frame, answers } = await readAdminPage(c, {
    tool: toolAdmin.selectRemoteTool(server, name),
  })
  const { tool } = answers
  if (!tool) throw notFound('tool')
  const now = { ...emptyMapping, grant: tool.grant ?? '', tier: tool.tier ?? emptyMapping.tier }
  const body = <RemoteToolPage tool={tool} problem={problem} typed={typed ?? now} />
  return sendAdminPage(c, { frame, title: tool.tool, tab: 'tools', status, body })
}

const addServer = (c: PageContext, toolAdmin: ToolAdminApi): Promise<Response> => {
  const toTyped = (field: FormField) =>
    Object.fromEntries(serverFields.map((name) => [name, field(name)])) as TypedServer
  return handleAdminForm(c, {
    async submit(field, admin) {
      const input = toServerInput(toTyped(field))
      await toolAdmin.addRemoteServer(admin, input)
      return remoteServerPath(input.name)
    },
    showAgain({ error }, field) {
      const { form, status } = rejectForm(serverForm, createForm(toTyped(field)), error)
      return showServers(c, toolAdmin, { status, problem: form.problem, form })
    },
  })
}

const actOnServer = (
  c: PageContext,
  toolAdmin: ToolAdminApi,
  submit: (field: FormField, admin: Sender) => Promise<string>,
): Promise<Response> =>
  handleAdminForm(c, {
    submit,
    showAgain: (rejection) => showServers(c, toolAdmin, rejection),
  })

/** Gives grants of a server to the agents that were checked. */
async function giveTools(c: PageContext, toolAdmin: ToolAdminApi): Promise<Response> {
  const admin = await requireAdminViewer(c)
  const sent = await readFields(c)
  const listOf = (name: string) => sent.getAll(name).map(String)
  return handleAdminForm(c, {
    async submit(field) {
      const [agents, grants] = [listOf('agent'), listOf('grant')]
      if (agents.length === 0 || grants.length === 0) {
        throw new AppError('VALIDATION', 'Nothing was given.', {
          hint: 'Check at least one agent and one grant.',
        })
      }
      await giveGrants(c.var.context, admin, agents, grants)
      return remoteServerPath(field('server'))
    },
    showAgain: (rejection, field) =>
      showServer(c, toolAdmin, { ...rejection, ...firstPage(field('server')) }),
  })
}

/** Maps, hides or accepts the tools that were chosen on the page of their server or of one of them. */
async function changeTools(c: PageContext, toolAdmin: ToolAdminApi): Promise<Response> {
  const chosen = (await readFields(c))
    .getAll('tool')
    .flatMap((value) => (typeof value === 'string' ? [readChoice(value)] : []))
  return handleAdminForm(c, {
    async submit(field, admin) {
      const server = field('server')
      if (field('action') === 'accept') {
        await toolAdmin.acceptRemoteTools(admin, server, readAccepted(field, chosen))
      } else {
        const isMapped = field('action') === 'map'
        await toolAdmin.mapRemoteTools(admin, {
          server,
          chosen: toToolChoice(field, chosen),
          grant: isMapped ? field('grant').trim() : null,
          tier: isMapped ? field('tier') : null,
        })
      }
      const [only] = chosen
      const isLeft = field('action') !== 'accept' || only?.offeredHash !== ''
      if (field('from') === 'tool' && only && isLeft) return remoteToolPath(server, only.name)
      return `${toolListPath(server, readFilterValues(field), field('cursor'))}#tools`
    },
    showAgain: (rejection, field) => showChoice(c, toolAdmin, { rejection, field, chosen }),
  })
}

const toToolChoice = (field: FormField, chosen: ChosenTool[]): RemoteToolChoice =>
  field('scope') === 'matching'
    ? { matching: toToolFilter(readFilterValues(field)), version: Number(field('version')) }
    : { tools: chosen.map(({ name, hash }) => ({ name, hash })) }

/** Returns the changes that the page showed. @throws VALIDATION for a tool of which it showed none */
function readAccepted(field: FormField, chosen: ChosenTool[]) {
  if (field('scope') === 'matching') {
    throw new AppError('VALIDATION', 'Changes of other pages cannot be accepted.', {
      hint: 'Check the tools whose changes you read on this page.',
    })
  }
  return chosen.map(({ name, offeredHash: hash }) => {
    if (hash !== null) return { name, hash }
    throw new AppError('VALIDATION', `No change of ${field('server')}_${name} was shown.`, {
      hint: 'Uncheck the tool, or open it to read its change.',
    })
  })
}

/** Shows the page of a rejected choice again, with what was typed and checked. */
function showChoice(
  c: PageContext,
  toolAdmin: ToolAdminApi,
  { rejection, field, chosen }: { rejection: Rejection; field: FormField; chosen: ChosenTool[] },
): Promise<Response> {
  const server = field('server')
  const typed: TypedMapping = {
    chosen: chosen.map(({ name }) => name),
    scope: field('scope') === 'matching' ? 'matching' : 'checked',
    grant: field('grant'),
    tier: field('tier'),
  }
  const [only] = chosen
  if (field('from') === 'tool' && only) {
    return showTool(c, toolAdmin, { ...rejection, server, tool: only.name, typed })
  }
  const filter = readFilterValues(field)
  return showServer(c, toolAdmin, { ...rejection, server, filter, cursor: field('cursor'), typed })
}

interface RemoteToolPageProps {
  tool: RemoteToolText
  problem: FormProblem | null
  typed: TypedMapping
}

/** One remote tool: its whole description or what changed, and the form that maps it. */
const RemoteToolPage: FC<RemoteToolPageProps> = ({ tool, problem, typed }) => {
  const isWaiting = tool.state === 'changed' || tool.state === 'gone'
  return (
    <>
      <p>
        <TextLink href={remoteServerPath(tool.server)}>Tools of {tool.server}</TextLink>
      </p>
      <h1>
        <code>{tool.tool}</code>
      </h1>
      <p class="lede">
        {explainState(tool)}
        {tool.says_read_only && ' The server says that it only reads.'}
      </p>
      <ErrorSummary problem={problem} />
      <h2 class="up4">{isWaiting ? 'Change' : 'Description'}</h2>
      <Lines text={tool.diff && isWaiting ? tool.diff.join('\n') : tool.text} />
      {isWaiting && (
        <form class="up3" method="post" action={`${remotePath}/tools`}>
          <Choice tool={tool} />
          <Submit name="action" value="accept">
            {tool.state === 'gone' ? 'Delete' : 'Accept change'}
          </Submit>
        </form>
      )}
      <form class="form up4" method="post" action={`${remotePath}/tools`}>
        <Choice tool={tool} />
        <fieldset>
          <MappingFields server={tool.server} typed={typed} />
        </fieldset>
        <div class="acts">
          <Submit name="action" value="map">
            Set grant and tier
          </Submit>
          {tool.grant !== null && (
            <Submit name="action" value="hide">
              Hide
            </Submit>
          )}
        </div>
      </form>
    </>
  )
}

const Choice: FC<{ tool: RemoteToolText }> = ({ tool }) => (
  <>
    <input type="hidden" name="server" value={tool.server} />
    <input type="hidden" name="tool" value={toChoice(tool, true)} />
    <input type="hidden" name="from" value="tool" />
  </>
)

const explainState = ({ state, problem }: RemoteToolText): string =>
  ({
    usable: 'Available.',
    unmapped: 'Hidden: set its grant and tier.',
    unreadable: `Hidden: ${problem}.`,
    changed: 'Hidden: its server changed the description.',
    gone: 'Hidden: its server no longer has the tool.',
  })[state]
