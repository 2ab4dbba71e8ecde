import type { Child, FC } from 'hono/jsx'
import type {
  RemoteServerInput,
  RemoteServerSummary,
  RemoteServerText,
  RemoteToolCounts,
  RemoteToolLine,
  RemoteToolPage,
  RemoteToolQuery,
  RemoteToolState,
  RemoteToolSummary,
} from '../../mcp-servers/contract/tool-admin'
import { formatCount, formatPlural } from '../../shared/format'
import { connectPath, remoteServerPath, remoteToolPath } from '../../shared/paths'
import { Checkbox, ErrorSummary, Field, Submit } from '../form/fields'
import {
  createForm,
  type FormDefinition,
  type FormProblem,
  type FormState,
  isChecked,
} from '../form/form-state'
import { TextLink } from '../parts/links'
import { EmptyList, Pager, TableHead } from '../parts/lists'

export const remotePath = '/tools/remote'

/** The way from the address of a server to agents that use its tools. */
const stepTitles = {
  address: 'Enter its address.',
  account: 'Sign in, if the server asks for it.',
  tools: 'Allow tools.',
  agents: 'Give them to agents.',
} as const

const stateLabels: Record<RemoteToolState, string> = {
  usable: 'Available',
  unmapped: 'Hidden',
  changed: 'Changed',
  gone: 'Removed by its server',
  unreadable: 'Unreadable',
}

/** The fields of the filter form; '' for an empty one. */
export type ToolFilterValues = Record<'q' | 'state' | 'read_only', string>

/** @param read returns a field of a query or form, '' when it is missing */
export const readFilterValues = (read: (name: string) => string): ToolFilterValues => ({
  q: read('q').trim().slice(0, 200),
  state: Object.hasOwn(stateLabels, read('state')) ? read('state') : '',
  read_only: read('read_only') === 'on' ? 'on' : '',
})

export const toToolFilter = (
  values: ToolFilterValues,
): Pick<RemoteToolQuery, 'q' | 'state' | 'readOnly'> => ({
  q: values.q,
  ...(values.state !== '' && { state: values.state as RemoteToolState }),
  readOnly: values.read_only === 'on',
})

/** Returns the path of a server's tools with a filter, and with the page after a cursor. */
export function toolListPath(
  server: string,
  values: Partial<ToolFilterValues>,
  cursor = '',
): string {
  const given = Object.entries({ ...values, cursor }).filter(([, value]) => value !== '')
  const query = new URLSearchParams(given).toString()
  return `${remoteServerPath(server)}${query && `?${query}`}`
}

interface RemoteServerPageProps extends Omit<RemoteToolPage, 'next'> {
  server: RemoteServerText
  agents: AgentChoice[]
  /** Of all remote tools, for a choice of all that match. */
  version: number
  filter: ToolFilterValues
  /** Cursor of this page; '' for the first. */
  cursor: string
  /** Cursor of the next page; null on the last one. */
  next: string | null
  problem: FormProblem | null
  typed: TypedMapping
}

/** A remote MCP server with a page of its tools, which are mapped together. */
export const RemoteServerPage: FC<RemoteServerPageProps> = (props) => {
  const { server, counts, tools, filter, next, grants, agents, version } = props
  const isFiltered = Object.values(filter).some((value) => value !== '')
  return (
    <>
      <p>
        <TextLink href={remotePath}>Remote MCP servers</TextLink>
      </p>
      <h1>{server.name}</h1>
      <p class="lede">{server.description}</p>
      <ErrorSummary problem={props.problem} />
      <ListProblems server={server} />
      <ServerSteps
        server={server}
        counts={counts}
        version={version}
        grants={grants}
        agents={agents}
      />
      <Instructions server={server} />
      <p class="up3">
        <StateCounts server={server.name} counts={counts} />
      </p>
      <div class="up4">
        <FilterForm server={server.name} typed={filter} />
      </div>
      {tools.length === 0 ? (
        <EmptyList things="tools" unfiltered={isFiltered ? remoteServerPath(server.name) : null}>
          Refresh the server to read its tools.
        </EmptyList>
      ) : (
        <ToolsForm {...props} />
      )}
      <Pager href={next && toolListPath(server.name, filter, next)}>More tools</Pager>
      <DeleteServer server={server.name} />
    </>
  )
}

const ListProblems: FC<{ server: RemoteServerText }> = ({ server }) => (
  <>
    {server.failure !== null && <p class="warn">Last refresh failed: {server.failure}</p>}
    {server.problems.length > 0 && (
      <div class="warn">
        <p>Not everything in its list could be read:</p>
        <ul>
          {server.problems.map((problem) => (
            <li>{problem}</li>
          ))}
        </ul>
      </div>
    )}
  </>
)

const DeleteServer: FC<{ server: string }> = ({ server }) => (
  <div class="up6">
    <details class="danger">
      <summary>
        Delete<span class="vh"> {server}</span>
      </summary>
      <form class="up2" method="post" action={`${remotePath}/remove`}>
        <input type="hidden" name="server" value={server} />
        <Submit>Delete {server} and its tools</Submit>
      </form>
    </details>
  </div>
)

/** What the server says about its use. Models are shown what an admin reviewed, also after the server says something else. */
const Instructions: FC<{ server: RemoteServerText }> = ({ server }) => {
  const { name, instructions, offered_instructions: offered } = server
  if (instructions === null && offered === null) return null
  const isShown = instructions === offered
  return (
    <details class="up3" {...(isShown ? {} : { open: true })}>
      <summary>
        Instructions{' '}
        <span class="meta">
          {isShown && 'Models with its tools are shown them'}
          {!isShown && (instructions === null ? 'Hidden from models' : 'Its server changed them')}
        </span>
      </summary>
      {instructions !== null && <Lines text={instructions} />}
      {!isShown && offered !== null && (
        <form class="up2" method="post" action={`${remotePath}/instructions`}>
          {instructions !== null && <p>The server now says:</p>}
          <Lines text={offered} />
          <input type="hidden" name="server" value={name} />
          <input type="hidden" name="text" value={offered} />
          <Submit class="up2">
            Show to models<span class="vh">: instructions of {name}</span>
          </Submit>
        </form>
      )}
      {instructions !== null && (
        <form class="up2" method="post" action={`${remotePath}/instructions`}>
          <input type="hidden" name="server" value={name} />
          <Submit>
            Hide from models<span class="vh">: instructions of {name}</span>
          </Submit>
        </form>
      )}
    </details>
  )
}

const FilterForm: FC<{ server: string; typed: ToolFilterValues }> = ({ server, typed }) => {
  const form = createForm(typed)
  return (
    <form class="filter" action={remoteServerPath(server)} aria-label="Filter tools">
      <Field form={form} name="q" id="words" label="Words" type="search" autocomplete="off" />
      <Field as="select" form={form} name="state" label="State" options={stateOptions} />
      <Field as="select" form={form} name="read_only" label="Server says" options={claims} />
      <Submit>Filter</Submit>
    </form>
  )
}

const stateOptions = { '': 'Any', ...stateLabels }
/** What a server can say of its tools, which nothing checks. */
const claims = { '': 'Any', on: 'Only reads' }

const ToolsForm: FC<RemoteServerPageProps> = (props) => {
  const { server, tools, matching, filter, cursor, version, typed } = props
  return (
    <form class="form wide up4" id="tools" method="post" action={`${remotePath}/tools`}>
      <input type="hidden" name="server" value={server.name} />
      <input type="hidden" name="version" value={String(version)} />
      {Object.entries({ ...filter, cursor }).map(
        ([name, value]) => value !== '' && <input type="hidden" name={name} value={value} />,
      )}
      <table class="tbl fold">
        <TableHead columns={[{ hidden: 'Choose' }, 'Tool', 'State', 'Grant']} />
        <tbody>
          {tools.map((tool) => (
            <ToolRow tool={tool} isChosen={typed.chosen.includes(tool.name)} />
          ))}
        </tbody>
      </table>
      <fieldset class="up3">
        <legend class="vh">Tools to change</legend>
        <div>
          <Scope typed={typed} value="checked" label="Tools checked above" />
          <Scope
            typed={typed}
            value="matching"
            label={`All that match, on all pages: ${formatPlural(matching, 'tool', 'tools')}`}
          />
        </div>
        <MappingFields server={server.name} typed={typed} />
      </fieldset>
      <div class="acts">
        <Submit name="action" value="map">
          Set grant and tier
        </Submit>
        <Submit name="action" value="hide">
          Hide
        </Submit>
        <Submit name="action" value="accept">
          Accept changes
        </Submit>
      </div>
    </form>
  )
}

const Scope: FC<{ typed: TypedMapping; value: TypedMapping['scope']; label: string }> = (props) => (
  <label class="check">
    <input
      type="radio"
      name="scope"
      value={props.value}
      checked={props.typed.scope === props.value}
    />
    {props.label}
  </label>
)

const ToolRow: FC<{ tool: RemoteToolLine; isChosen: boolean }> = ({ tool, isChosen }) => {
  // A change is accepted by its hash, which stands here only when the change itself does.
  const isShown = tool.state === 'gone' || tool.change !== null
  return (
    <tr data-row>
      <td>
        <input
          type="checkbox"
          name="tool"
          value={toChoice(tool, isShown)}
          checked={isChosen}
          aria-label={`Choose ${tool.tool}`}
        />
      </td>
      <th scope="row" class="whole">
        <a href={remoteToolPath(tool.server, tool.name)}>
          <code>{tool.tool}</code>
        </a>
        <div class="meta">{tool.summary}</div>
        {tool.change && <pre class="code">{tool.change.join('\n')}</pre>}
        {tool.state === 'changed' && tool.change === null && (
          <div class="meta">Open the tool to read and accept the change.</div>
        )}
      </th>
      <td data-l="State">
        <span>
          {stateLabels[tool.state]}
          {tool.problem !== null && <div class="meta">{tool.problem}</div>}
          {tool.says_read_only && <div class="meta">Server says: only reads</div>}
        </span>
      </td>
      <td data-l="Grant">
        {tool.grant !== null && (
          <span>
            <code>{tool.grant}</code> <span class="meta">{tool.tier}</span>
          </span>
        )}
      </td>
    </tr>
  )
}

interface ServerStepsProps {
  server: RemoteServerText
  counts: RemoteToolCounts
  /** Of all remote tools, for a choice of all that match. */
  version: number
  /** What agents need for its available tools. */
  grants: string[]
  agents: AgentChoice[]
}

/** An agent, and whether its definition requests all grants of the server. */
interface AgentChoice {
  name: string
  hasAll: boolean
}

/** Leads from the address of a server to agents that use its tools, with what is known at each step. */
const ServerSteps: FC<ServerStepsProps> = (props) => {
  const { server, counts } = props
  const toolCount = Object.values(counts).reduce((sum, count) => sum + count, 0)
  return (
    <ol class="steps up3">
      <li>
        <b>{stepTitles.address}</b>{' '}
        {server.failure === null
          ? `The server offers ${formatPlural(toolCount, 'tool', 'tools')}.`
          : 'The last refresh failed, see above. Change the address by adding the server again with the same name.'}
        <div class="acts up2">
          <RefreshForm server={server.name} from={remoteServerPath(server.name)} />
        </div>
      </li>
      <li>
        <b>{stepTitles.account}</b> With a{' '}
        <TextLink href="/credentials">credential of the hub</TextLink>, or each person with an
        account of their own.
        <div class="acts up2">
          <a class="btn" href={`${connectPath(server.name)}?next=${remoteServerPath(server.name)}`}>
            Connect your account<span class="vh"> at {server.name}</span>
          </a>
        </div>
      </li>
      <li>
        <b>{stepTitles.tools}</b> <AllowTools {...props} />
      </li>
      <li>
        <b>{stepTitles.agents}</b>{' '}
        {counts.usable === 0 ? 'Once a tool is available.' : <GiveTools {...props} />}
      </li>
    </ol>
  )
}

/** Offers all agents, so that several are given the tools at once. */
const GiveTools: FC<ServerStepsProps> = ({ server: { name }, grants, agents }) => {
  const others = agents.filter(({ hasAll }) => !hasAll)
  const having = agents.filter(({ hasAll }) => hasAll)
  return (
    <>
      {having.length > 0 && `Given to ${having.map((agent) => `@${agent.name}`).join(', ')}. `}
      {others.length > 0 && 'Their next runs can use them.'}
      {agents.length === 0 && (
        <>
          There is no agent yet. <a href="/agents/new">Create one</a>.
        </>
      )}
      {others.length > 0 && (
        <form class="up2" method="post" action={`${remotePath}/give`}>
          <input type="hidden" name="server" value={name} />
          <fieldset class="choices">
            <legend class="vh">Agents</legend>
            {others.map((agent) => (
              <label class="check">
                <input type="checkbox" name="agent" value={agent.name} />@{agent.name}
              </label>
            ))}
          </fieldset>
          <GrantFields grants={grants} />
          <Submit class="up2">Give to these agents</Submit>
        </form>
      )}
    </>
  )
}

/** The grants of a server, of which those that read are checked; of one there is no choice. */
const GrantFields: FC<{ grants: string[] }> = ({ grants }) =>
  grants.length === 1 ? (
    <input type="hidden" name="grant" value={grants[0]} />
  ) : (
    <fieldset class="choices up2">
      <legend class="vh">Grants</legend>
      {grants.map((grant) => (
        <label class="check">
          <input type="checkbox" name="grant" value={grant} checked={grant.endsWith(':read')} />
          <code>{grant}</code>
        </label>
      ))}
    </fieldset>
  )

/** Offers to make all hidden tools available that only read; others are chosen in the list. */
const AllowTools: FC<ServerStepsProps> = ({ server: { name }, counts, version }) => (
  <>
    {`${formatPlural(counts.usable, 'tool is', 'tools are')} available, ${counts.unmapped} hidden. `}
    {counts.unmapped > 0 && 'Choose others in the list below: check them, then Set grant and tier.'}
    {counts.unmapped > 0 && (
      <form class="up2" method="post" action={`${remotePath}/tools`}>
        <input type="hidden" name="server" value={name} />
        <input type="hidden" name="version" value={String(version)} />
        <input type="hidden" name="scope" value="matching" />
        <input type="hidden" name="state" value="unmapped" />
        <input type="hidden" name="read_only" value="on" />
        <input type="hidden" name="grant" value={`${name}:read`} />
        <input type="hidden" name="tier" value="read" />
        <Submit name="action" value="map">
          Allow all that only read
        </Submit>
        <p class="meta up">
          Those of which the server says so. They get the grant <code>{`${name}:read`}</code>.
        </p>
      </form>
    )}
  </>
)

interface RemotePageProps {
  servers: RemoteServerSummary[]
  /** By name of the server. */
  counts: ReadonlyMap<string, RemoteToolCounts>
  problem: FormProblem | null
  /** What was typed, and why it was rejected. */
  form: ServerForm | null
}

/** The remote MCP servers, each with how many of its tools are available. */
export const RemotePage: FC<RemotePageProps> = ({ servers, counts, problem, form }) => (
  <>
    <h1>Remote MCP servers</h1>
    <p class="lede">
      A tool stays hidden until you set its grant and tier. When its server changes the description,
      it is hidden again until you review the change.
    </p>
    <ErrorSummary problem={problem} />
    {servers.length === 0 ? (
      <div class="empty">
        <p>No remote servers yet. Add one below.</p>
      </div>
    ) : (
      <table class="tbl fold up4">
        <TableHead columns={['Server', 'Tools', 'Last refresh', { hidden: 'Refresh' }]} />
        <tbody>
          {servers.map((server) => (
            <ServerRow server={server} counts={counts.get(server.name)} />
          ))}
        </tbody>
      </table>
    )}
    <AddServerForm form={form} isOpen={form !== null || servers.length === 0} />
  </>
)

const ServerRow: FC<{ server: RemoteServerSummary; counts: RemoteToolCounts | undefined }> = ({
  server,
  counts,
}) => (
  <tr id={server.name} data-row>
    <th scope="row">
      <a href={remoteServerPath(server.name)}>
        <b>{server.name}</b>
      </a>
      <div class="meta">{server.description}</div>
    </th>
    <td class="whole">
      <StateCounts server={server.name} counts={counts} />
    </td>
    <td class="whole" data-l="Last refresh">
      <span>
        <ReadState server={server} />
      </span>
    </td>
    <td class="whole">
      <RefreshForm server={server.name} from={remotePath} />
    </td>
  </tr>
)

/** How many tools are in each state, with links to them. */
const StateCounts: FC<{ server: string; counts: RemoteToolCounts | undefined }> = ({
  server,
  counts = {},
}) => {
  const found = Object.entries(counts).filter(([, count]) => count > 0)
  return found.length === 0 ? (
    <span class="meta">No tools</span>
  ) : (
    <span class="rules">
      {found.map(([state, count]) => (
        <a href={toolListPath(server, { state })}>
          {formatCount(count)} {stateLabels[state as RemoteToolState].toLowerCase()}
        </a>
      ))}
    </span>
  )
}

const ReadState: FC<{ server: RemoteServerSummary }> = ({ server }) => (
  <>
    {server.failure !== null && <p class="warn">Failed: {server.failure}</p>}
    {server.failure === null && server.problem_count === 0 && 'Succeeded'}
    {server.problem_count > 0 && (
      <a href={remoteServerPath(server.name)}>
        {formatPlural(server.problem_count, 'problem', 'problems')} in its list
      </a>
    )}
  </>
)

export const Lines: FC<{ text: string }> = ({ text }) => (
  <pre class="code" tabindex={0}>
    {text}
  </pre>
)

/** @param from the page to come back to */
const RefreshForm: FC<{ server: string; from: string }> = ({ server, from }) => (
  <form method="post" action={`${remotePath}/refresh`}>
    <input type="hidden" name="server" value={server} />
    {from === remotePath && <input type="hidden" name="from" value="list" />}
    <Submit>
      Refresh<span class="vh"> {server}</span>
    </Submit>
  </form>
)

/** A server as form fields. */
export type TypedServer = Record<ServerField, string>
type ServerField = (typeof serverFields)[number]

export const serverFields = [
  'name',
  'description',
  'base_url',
  'credential',
  'header',
  'oauth_client_id',
  'allow_http',
  'allow_private',
] as const

/** A form of a server, as the page shows it. */
export type ServerForm = FormState<ServerField>

/** At which field an error of the API stands. */
export const serverForm: FormDefinition<ServerField> = {
  rejected: 'The server was not added.',
  fields: {
    name: {},
    base_url: {},
    description: {},
    allow_http: {},
    allow_private: {},
    credential: {},
    header: { path: 'headers' },
    oauth_client_id: {},
  },
}

/** Labels of the fields. */
const serverLabels: TypedServer = {
  name: 'Name',
  description: 'Description',
  base_url: 'URL',
  credential: 'Credential',
  header: 'Credential header',
  oauth_client_id: 'OAuth client id',
  allow_http: 'Allow plain http',
  allow_private: 'Allow private addresses',
}

const emptyServer: TypedServer = {
  name: '',
  description: '',
  base_url: '',
  credential: '',
  header: 'Authorization',
  oauth_client_id: '',
  allow_http: '',
  allow_private: '',
}

/** Converts form fields to a server to add. */
export const toServerInput = (typed: TypedServer): RemoteServerInput => ({
  name: typed.name.trim(),
  description: typed.description.trim(),
  base_url: typed.base_url.trim(),
  oauth_client_id: typed.oauth_client_id.trim() || null,
  credential: typed.credential.trim() || null,
  ...(typed.credential.trim() !== '' && {
    headers: {
      [typed.header.trim()]:
        typed.header.trim().toLowerCase() === 'authorization'
          ? 'Bearer {credential}'
          : '{credential}',
    },
  }),
  allow_http: isChecked(typed.allow_http),
  allow_private: isChecked(typed.allow_private),
})

/** The first two of the steps that the page of the server goes on with. */
const AddServerForm: FC<{ form: ServerForm | null; isOpen: boolean }> = (props) => {
  const form = props.form ?? createForm(emptyServer)
  return (
    <details class="up4" id="add" {...(props.isOpen ? { open: true } : {})}>
      <summary>Add a server</summary>
      <form class="up3" method="post" action="/tools/remote">
        <ol class="steps">
          <li>
            <b>{stepTitles.address}</b>
            <fieldset class="form wide up2">
              <legend class="vh">Address</legend>
              <Text
                name="name"
                label={serverLabels.name}
                form={form}
                required
                hint="The names of its tools start with this name, as in name_tool."
              />
              <Text
                name="base_url"
                label={serverLabels.base_url}
                form={form}
                required
                hint="The endpoint of MCP over Streamable HTTP."
              />
              <Text name="description" label={serverLabels.description} form={form} required />
              <Checkbox name="allow_http" label={serverLabels.allow_http} form={form} />
              <Checkbox name="allow_private" label={serverLabels.allow_private} form={form} />
            </fieldset>
          </li>
          <li>
            <b>{stepTitles.account}</b> Each person can connect an account of their own once the
            server is added. Or all use a credential of the hub:
            <fieldset class="form wide up2">
              <legend class="vh">Credential</legend>
              <Text
                name="credential"
                label={serverLabels.credential}
                form={form}
                hint={
                  <>
                    Name of a <a href="/credentials">credential</a> for the server remote. Leave
                    empty for none.
                  </>
                }
              />
              <Text name="header" label={serverLabels.header} form={form} />
              <Text
                name="oauth_client_id"
                label={serverLabels.oauth_client_id}
                form={form}
                hint="Only where people connect their own accounts and the server registers no clients by itself."
              />
            </fieldset>
            <div class="acts up3">
              <Submit>Add server and read its tools</Submit>
            </div>
          </li>
          <li>
            <b>{stepTitles.tools}</b> <span class="meta">On the next page.</span>
          </li>
          <li>
            <b>{stepTitles.agents}</b> <span class="meta">On the next page.</span>
          </li>
        </ol>
      </form>
    </details>
  )
}

interface TextProps {
  form: ServerForm
  name: ServerField
  label: string
  hint?: Child
  required?: boolean
}

const Text: FC<TextProps> = (props) => <Field {...props} id={`remote-${props.name}`} />

/** What an admin typed to map tools, and the names of those that are checked. */
export interface TypedMapping {
  chosen: string[]
  scope: 'checked' | 'matching'
  grant: string
  tier: string
}

export const emptyMapping: TypedMapping = {
  chosen: [],
  scope: 'checked',
  grant: '',
  tier: 'write',
}

const tiers = { read: 'read', write: 'write', destructive: 'destructive' }

export const MappingFields: FC<{ server: string; typed: TypedMapping }> = ({ server, typed }) => {
  const { grant, tier } = typed
  const form = createForm({ grant, tier })
  return (
    <>
      <Field
        form={form}
        name="grant"
        label="Grant"
        placeholder={`${server}:read`}
        autocomplete="off"
        spellcheck={false}
        hint={`Starts with ${server}: as in ${server}:read.`}
      />
      <Field as="select" form={form} name="tier" label="Tier" options={tiers} />
    </>
  )
}

/** A tool as a form sends it: with the hashes of the texts that its page shows. */
export interface ChosenTool {
  name: string
  /** Of the accepted description. */
  hash: string
  /** Of the change, '' when the server removed the tool; null: the page shows none. */
  offeredHash: string | null
}

/** @param isChangeShown whether the page shows what changed */
export const toChoice = (
  { name, hash, offered_hash: offered }: RemoteToolSummary,
  isChangeShown: boolean,
): string => [name, hash, ...(isChangeShown && offered !== null ? [offered] : [])].join(' ')

export function readChoice(text: string): ChosenTool {
  const [name = '', hash = '', offeredHash = null] = text.split(' ')
  return { name, hash, offeredHash }
}
