import type { FC } from 'hono/jsx'
import type {
  RemoteServerSummary,
  RemoteToolCounts,
  RemoteToolState,
} from '../../mcp-servers/contract/tool-admin'
import { formatCount, formatPlural } from '../../shared/format'
import { remoteServerPath } from '../../shared/paths'
import { ErrorSummary } from '../form/error-summary'
import type { FormProblem } from '../form/form-state'
import { TableHead } from '../parts/table-head'
import { AddServerForm, type TypedServer } from './add-server-form'
import { remotePath, stateLabels, toolListPath } from './remote-paths'

interface RemotePageProps {
  servers: RemoteServerSummary[]
  /** By name of the server. */
  counts: ReadonlyMap<string, RemoteToolCounts>
  problem: FormProblem | null
  typed: TypedServer | null
}

/** The remote MCP servers, each with how many of its tools are available. */
export const RemotePage: FC<RemotePageProps> = ({ servers, counts, problem, typed }) => (
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
    <AddServerForm typed={typed} />
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
export const StateCounts: FC<{ server: string; counts: RemoteToolCounts | undefined }> = ({
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
export const RefreshForm: FC<{ server: string; from: string }> = ({ server, from }) => (
  <form method="post" action={`${remotePath}/refresh`}>
    <input type="hidden" name="server" value={server} />
    {from === remotePath && <input type="hidden" name="from" value="list" />}
    <button type="submit" class="btn">
      Refresh<span class="vh"> {server}</span>
    </button>
  </form>
)
