import type { FC } from 'hono/jsx'
import type { PageParts, PageProblem } from '../../hub/contract'
import { AddServerForm, type TypedServer } from './add-server-form'
import type { PresentedServer, PresentedTool } from './present'

interface RemotePageProps {
  parts: PageParts
  servers: PresentedServer[]
  problem: PageProblem | null
  typed: TypedServer | null
}

/** MCP servers of others: what each of their tools needs, and what changed since it was accepted. */
export const RemotePage: FC<RemotePageProps> = ({
  parts: { Problem },
  servers,
  problem,
  typed,
}) => (
  <>
    <h1>Servers of others</h1>
    <p class="meta">
      Nobody sees a tool until you say what it needs. One that is described in another way than you
      accepted is hidden until you look at it.
    </p>
    <Problem problem={problem} />
    {servers.length === 0 && (
      <div class="empty">
        <p>No server was added yet.</p>
      </div>
    )}
    {servers.map((server) => (
      <Server server={server} />
    ))}
    <AddServerForm typed={typed} />
  </>
)

const Server: FC<{ server: PresentedServer }> = ({ server }) => (
  <section class="up4" id={server.name}>
    <h2>{server.name}</h2>
    <p>{server.description}</p>
    {server.failure !== null && <p class="warn">When it was read last: {server.failure}</p>}
    <div class="acts">
      <form method="post" action="/tools/remote/refresh">
        <input type="hidden" name="server" value={server.name} />
        <button type="submit" class="btn">
          Read it again
        </button>
      </form>
      <details class="danger">
        <summary>
          Take it out<span class="vh"> {server.name}</span>
        </summary>
        <form class="up2" method="post" action="/tools/remote/remove">
          <input type="hidden" name="server" value={server.name} />
          <button type="submit" class="btn">
            Take out {server.name} and its tools
          </button>
        </form>
      </details>
    </div>
    {server.tools.map((tool) => (
      <Tool server={server.name} tool={tool} />
    ))}
  </section>
)

const states = {
  usable: 'in use',
  unmapped: 'hidden: say what it needs',
  unreadable: 'hidden: the name of an argument holds characters that nobody sees',
  changed: 'hidden: its server describes it in another way now',
  gone: 'hidden: its server has it no more',
}

const Tool: FC<{ server: string; tool: PresentedTool }> = ({ server, tool }) => (
  <details class="up3" id={tool.tool} {...(isWaiting(tool) ? { open: true } : {})}>
    <summary>
      <code>{tool.tool}</code> <span class="meta">{states[tool.state]}</span>
    </summary>
    {isWaiting(tool) ? <Change server={server} tool={tool} /> : <Lines text={tool.text} />}
    <MapForm server={server} tool={tool} />
  </details>
)

const Lines: FC<{ text: string }> = ({ text }) => (
  <pre class="code" tabindex={0}>
    {text}
  </pre>
)

const isWaiting = ({ state }: PresentedTool): boolean => state === 'changed' || state === 'gone'

const Change: FC<{ server: string; tool: PresentedTool }> = ({ server, tool }) => (
  <form class="up2" method="post" action="/tools/remote/accept">
    {tool.diff && <Lines text={tool.diff.join('\n')} />}
    <input type="hidden" name="server" value={server} />
    <input type="hidden" name="tool" value={tool.name} />
    <input type="hidden" name="hash" value={tool.offered_hash ?? ''} />
    <button type="submit" class="btn up2">
      {tool.state === 'gone' ? 'Take it out' : 'Accept it as it is now'}
      <span class="vh"> {tool.tool}</span>
    </button>
  </form>
)

const tiers = ['read', 'write', 'destructive'] as const

const MapForm: FC<{ server: string; tool: PresentedTool }> = ({ server, tool }) => (
  <form class="form up2" method="post" action="/tools/remote/map">
    <input type="hidden" name="server" value={server} />
    <input type="hidden" name="tool" value={tool.name} />
    <input type="hidden" name="hash" value={tool.hash} />
    <fieldset>
      <div>
        <label for={`grant-${tool.tool}`}>Grant of {tool.tool}</label>
        <input
          id={`grant-${tool.tool}`}
          name="grant"
          value={tool.grant ?? ''}
          placeholder={`${server}:read`}
        />
        <p class="meta">Begins with {server}: — empty hides it.</p>
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
