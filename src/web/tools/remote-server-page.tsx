import type { FC } from 'hono/jsx'
import type {
  RemoteServerText,
  RemoteToolLine,
  RemoteToolPage,
} from '../../mcp-servers/contract/tool-admin'
import { formatPlural } from '../../shared/format'
import { connectPath, remoteServerPath, remoteToolPath } from '../../shared/paths'
import { ErrorSummary } from '../form/error-summary'
import { Field } from '../form/field'
import { createForm, type FormProblem } from '../form/form-state'
import { EmptyList } from '../parts/empty-list'
import { Pager } from '../parts/pager'
import { TableHead } from '../parts/table-head'
import { MappingFields, type TypedMapping, toChoice } from './mapping-form'
import { Lines, RefreshForm, StateCounts } from './remote-page'
import { remotePath, stateLabels, type ToolFilterValues, toolListPath } from './remote-paths'

export interface RemoteServerPageProps extends Omit<RemoteToolPage, 'next'> {
  server: RemoteServerText
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
  const { server, counts, tools, filter, next } = props
  const isFiltered = Object.values(filter).some((value) => value !== '')
  return (
    <>
      <p>
        <a class="ul" href={remotePath}>
          Remote MCP servers
        </a>
      </p>
      <h1>{server.name}</h1>
      <p class="lede">{server.description}</p>
      <ErrorSummary problem={props.problem} />
      <ListProblems server={server} />
      <Actions server={server.name} />
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

const Actions: FC<{ server: string }> = ({ server }) => (
  <div class="acts up3">
    <a class="btn" href={`${connectPath(server)}?next=${remoteServerPath(server)}`}>
      Connect your account<span class="vh"> at {server}</span>
    </a>
    <RefreshForm server={server} from={remoteServerPath(server)} />
    <details class="danger">
      <summary>
        Delete<span class="vh"> {server}</span>
      </summary>
      <form class="up2" method="post" action={`${remotePath}/remove`}>
        <input type="hidden" name="server" value={server} />
        <button type="submit" class="btn">
          Delete {server} and its tools
        </button>
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
          <button type="submit" class="btn up2">
            Show to models<span class="vh">: instructions of {name}</span>
          </button>
        </form>
      )}
      {instructions !== null && (
        <form class="up2" method="post" action={`${remotePath}/instructions`}>
          <input type="hidden" name="server" value={name} />
          <button type="submit" class="btn">
            Hide from models<span class="vh">: instructions of {name}</span>
          </button>
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
      <button type="submit" class="btn">
        Filter
      </button>
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
        <button type="submit" class="btn" name="action" value="map">
          Set grant and tier
        </button>
        <button type="submit" class="btn" name="action" value="hide">
          Hide
        </button>
        <button type="submit" class="btn" name="action" value="accept">
          Accept changes
        </button>
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
