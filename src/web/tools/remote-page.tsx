import type { FC } from 'hono/jsx'
import type { RemoteServerSummary, RemoteToolSummary } from '../../mcp-servers/contract/tool-admin'
import { connectPath } from '../../shared/paths'
import { ErrorSummary } from '../form/error-summary'
import type { FormProblem } from '../form/form-state'
import { AddServerForm, type TypedServer } from './add-server-form'

interface RemotePageProps {
  servers: RemoteServerSummary[]
  /** The tools of all servers. */
  tools: RemoteToolSummary[]
  problem: FormProblem | null
  typed: TypedServer | null
}

/** The remote MCP servers, with grants, tiers and changes of their tools. */
export const RemotePage: FC<RemotePageProps> = ({ servers, tools, problem, typed }) => (
  <>
    <h1>Remote MCP servers</h1>
    <p class="lede">
      A tool stays hidden until you set its grant and tier. When its server changes the description,
      it is hidden again until you review the change.
    </p>
    <ErrorSummary problem={problem} />
    {servers.length === 0 && (
      <div class="empty">
        <p>No remote servers yet. Add one below.</p>
      </div>
    )}
    {servers.map((server) => (
      <Server server={server} tools={tools.filter((tool) => tool.server === server.name)} />
    ))}
    <AddServerForm typed={typed} />
  </>
)

const Server: FC<{ server: RemoteServerSummary; tools: RemoteToolSummary[] }> = ({
  server,
  tools,
}) => (
  <section class="up4" id={server.name}>
    <h2>{server.name}</h2>
    <p>{server.description}</p>
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
    <div class="acts">
      <a class="btn" href={`${connectPath(server.name)}?next=/tools/remote`}>
        Connect your account<span class="vh"> at {server.name}</span>
      </a>
      <form method="post" action="/tools/remote/refresh">
        <input type="hidden" name="server" value={server.name} />
        <button type="submit" class="btn">
          Refresh
        </button>
      </form>
      <details class="danger">
        <summary>
          Delete<span class="vh"> {server.name}</span>
        </summary>
        <form class="up2" method="post" action="/tools/remote/remove">
          <input type="hidden" name="server" value={server.name} />
          <button type="submit" class="btn">
            Delete {server.name} and its tools
          </button>
        </form>
      </details>
    </div>
    <Instructions server={server} />
    {tools.map((tool) => (
      <Tool tool={tool} />
    ))}
  </section>
)

/** What the server says about its use. Models are shown what an admin reviewed, also after the server says something else. */
const Instructions: FC<{ server: RemoteServerSummary }> = ({ server }) => {
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
        <form class="up2" method="post" action="/tools/remote/instructions">
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
        <form class="up2" method="post" action="/tools/remote/instructions">
          <input type="hidden" name="server" value={name} />
          <button type="submit" class="btn">
            Hide from models<span class="vh">: instructions of {name}</span>
          </button>
        </form>
      )}
    </details>
  )
}

const stateLabels: Record<RemoteToolSummary['state'], string> = {
  usable: 'Available',
  unmapped: 'Hidden: set its grant and tier',
  unreadable: 'Hidden',
  changed: 'Hidden: its server changed the description',
  gone: 'Hidden: its server no longer has the tool',
}

const Tool: FC<{ tool: RemoteToolSummary }> = ({ tool }) => (
  <details class="up3" id={tool.tool} {...(isWaiting(tool) ? { open: true } : {})}>
    <summary>
      <code>{tool.tool}</code>{' '}
      <span class="meta">
        {stateLabels[tool.state]}
        {tool.state === 'unreadable' && `: ${tool.problem}`}
      </span>
    </summary>
    {isWaiting(tool) ? <Change tool={tool} /> : <Lines text={tool.text} />}
    <MapForm tool={tool} />
  </details>
)

const Lines: FC<{ text: string }> = ({ text }) => (
  <pre class="code" tabindex={0}>
    {text}
  </pre>
)

const isWaiting = ({ state }: RemoteToolSummary): boolean => state === 'changed' || state === 'gone'

const Change: FC<{ tool: RemoteToolSummary }> = ({ tool }) => (
  <form class="up2" method="post" action="/tools/remote/accept">
    {tool.diff && <Lines text={tool.diff.join('\n')} />}
    <input type="hidden" name="server" value={tool.server} />
    <input type="hidden" name="tool" value={tool.name} />
    <input type="hidden" name="hash" value={tool.offered_hash ?? ''} />
    <button type="submit" class="btn up2">
      {tool.state === 'gone' ? 'Delete' : 'Accept change'}
      <span class="vh"> {tool.tool}</span>
    </button>
  </form>
)

const tiers = ['read', 'write', 'destructive'] as const

const MapForm: FC<{ tool: RemoteToolSummary }> = ({ tool }) => (
  <form class="form up2" method="post" action="/tools/remote/map">
    <input type="hidden" name="server" value={tool.server} />
    <input type="hidden" name="tool" value={tool.name} />
    <input type="hidden" name="hash" value={tool.hash} />
    <fieldset>
      <div>
        <label for={`grant-${tool.tool}`}>Grant of {tool.tool}</label>
        <input
          id={`grant-${tool.tool}`}
          name="grant"
          value={tool.grant ?? ''}
          placeholder={`${tool.server}:read`}
        />
        <p class="meta">
          Starts with {tool.server}: as in {tool.server}:read. Leave empty to hide the tool.
        </p>
      </div>
      <div>
        <label for={`tier-${tool.tool}`}>Tier of {tool.tool}</label>
        <select id={`tier-${tool.tool}`} name="tier">
          {tiers.map((tier) => (
            <option value={tier} selected={tier === (tool.tier ?? 'write')}>
              {tier}
            </option>
          ))}
        </select>
      </div>
    </fieldset>
    <button type="submit" class="btn">
      Save<span class="vh"> {tool.tool}</span>
    </button>
  </form>
)
