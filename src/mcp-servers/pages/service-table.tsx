import type { FC } from 'hono/jsx'
import type { ServiceLine } from './page-lines'
import { changePath, furtherHosts } from './service-form'

interface ServiceTableProps {
  services: ServiceLine[]
}

/** Where tools may go: declared by an admin, or known to a server by itself. */
export const ServiceTable: FC<ServiceTableProps> = ({ services }) =>
  services.length === 0 ? (
    <div class="empty">
      <p>
        <strong>No service is declared.</strong>
        Declare one, and agents can be allowed to use it.
      </p>
    </div>
  ) : (
    <table class="tbl fold">
      <thead>
        <tr>
          <th scope="col">Service</th>
          <th scope="col">Base URL</th>
          <th scope="col">Headers</th>
          <th scope="col">Credential</th>
          <th scope="col">
            <span class="vh">Change</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {services.map((line) => (
          <ServiceRow line={line} />
        ))}
      </tbody>
    </table>
  )

const ServiceRow: FC<{ line: ServiceLine }> = ({ line }) => (
  <tr id={`service-${line.server}-${line.name}`} data-row>
    <th scope="row">
      {line.server} / <b>{line.name}</b>
      <div class="meta">
        {line.updated_by === null ? 'known to its server' : `declared by ${line.updated_by}`}
      </div>
    </th>
    <td class="whole">
      <code>{line.base_url}</code>
      <Reach line={line} />
    </td>
    <td class="whole" data-l="Headers">
      <span>
        {Object.entries(line.headers).map(([name, value]) => (
          <div>
            <code>
              {name}: {value}
            </code>
          </div>
        ))}
        {Object.keys(line.headers).length === 0 && <span class="meta">none</span>}
      </span>
    </td>
    <td class="whole" data-l="Credential">
      {line.credential ?? <span class="meta">the only one</span>}
    </td>
    <td class="whole">
      <a class="ul" href={changePath(line)}>
        Change<span class="vh"> {line.name}</span>
      </a>
      {line.is_built_in || (
        <details class="danger">
          <summary>
            Delete<span class="vh"> {line.name}</span>
          </summary>
          <form class="up2" method="post" action="/credentials/services/delete">
            <input type="hidden" name="server" value={line.server} />
            <input type="hidden" name="name" value={line.name} />
            <button type="submit" class="btn">
              Delete {line.server} / {line.name}
            </button>
          </form>
        </details>
      )}
    </td>
  </tr>
)

/** What goes beyond https to the one host. */
const Reach: FC<{ line: ServiceLine }> = ({ line }) => {
  const further = furtherHosts(line)
  const words = [
    ...(further.length > 0 ? [`also ${further.join(', ')}`] : []),
    ...(line.allow_http ? ['plain http'] : []),
    ...(line.allow_private ? ['private addresses'] : []),
    ...(line.format === 'any' ? ['any format'] : []),
  ]
  return words.length === 0 ? null : <div class="meta">{words.join(', ')}</div>
}
