import type { FC } from 'hono/jsx'
import type { ServiceLine } from './page-lines'

/** A service as it stands in the form: hosts and headers a line each. */
export type TypedService = Record<(typeof serviceFields)[number], string>

export const serviceFields = [
  'server',
  'name',
  'base_url',
  'credential',
  'headers',
  'hosts',
  'format',
  'allow_http',
  'allow_private',
] as const

const nothing: TypedService = {
  ...{ server: 'http', name: '', base_url: '', credential: '', headers: '', hosts: '' },
  ...{ format: 'json', allow_http: '', allow_private: '' },
}

export const toTyped = (line: ServiceLine): TypedService => ({
  ...{ server: line.server, name: line.name, base_url: line.base_url },
  credential: line.credential ?? '',
  headers: Object.entries(line.headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n'),
  hosts: line.hosts.join('\n'),
  format: line.format,
  allow_http: line.allow_http ? 'on' : '',
  allow_private: line.allow_private ? 'on' : '',
})

/** The form in the body of `PUT /api/v1/services/:server/:name`. */
export const toServiceBody = (typed: TypedService): object => ({
  base_url: typed.base_url.trim(),
  credential: typed.credential.trim() || null,
  // None written means those that the server knows.
  ...(typed.headers.trim() !== '' && { headers: readHeaders(typed.headers) }),
  hosts: toLines(typed.hosts),
  format: typed.format,
  allow_http: typed.allow_http === 'on',
  allow_private: typed.allow_private === 'on',
})

const toLines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

const readHeaders = (text: string): Record<string, string> =>
  Object.fromEntries(
    toLines(text).map((line) => {
      const at = line.indexOf(':')
      return at === -1 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()]
    }),
  )

interface ServiceFormProps {
  servers: readonly string[]
  typed: TypedService | null
  /** Changes this one; absent: declares another. */
  line?: ServiceLine
}

export const ServiceForm: FC<ServiceFormProps> = ({ servers, typed, line }) => {
  const id = line ? `${line.server}-${line.name}` : 'new'
  const start = typed ?? (line ? toTyped(line) : nothing)
  return (
    <details class={line ? 'danger' : 'up4'} {...(typed ? { open: true } : {})}>
      <summary>
        {line ? (
          <>
            Change<span class="vh"> {line.name}</span>
          </>
        ) : (
          'Declare a service'
        )}
      </summary>
      <form class="form wide up3" method="post" action="/credentials/services">
        <fieldset>
          <Place {...{ id, start, servers, line }} />
          <Line id={id} name="base_url" label="Base URL" start={start} required />
          <Line
            id={id}
            name="credential"
            label="Credential"
            start={start}
            hint="Its name. Empty: the only one there is for this service."
          />
          <Lines
            id={id}
            name="headers"
            label="Headers"
            start={start}
            hint="One a line. {credential} stands for it: Authorization: Bearer {credential}"
          />
          <Lines
            id={id}
            name="hosts"
            label="Further hosts"
            start={start}
            hint="Where it redirects to, one a line; never with a credential."
          />
          <Options id={id} start={start} />
        </fieldset>
        <div class="acts">
          <button type="submit" class="btn">
            {line ? 'Change it' : 'Declare it'}
          </button>
        </div>
      </form>
    </details>
  )
}

interface PartProps {
  id: string
  start: TypedService
}

const Place: FC<PartProps & { servers: readonly string[]; line: ServiceLine | undefined }> = (
  props,
) => {
  const { id, start, servers, line } = props
  if (line) {
    return (
      <>
        <input type="hidden" name="server" value={line.server} />
        <input type="hidden" name="name" value={line.name} />
      </>
    )
  }
  return (
    <>
      <div>
        <label for={`service-${id}-server`}>Server</label>
        <select id={`service-${id}-server`} name="server">
          {servers.map((server) => (
            <option value={server} selected={start.server === server}>
              {server}
            </option>
          ))}
        </select>
      </div>
      <Line
        id={id}
        name="name"
        label="Name"
        start={start}
        hint="As in its grants: http:name:read."
        required
      />
    </>
  )
}

interface FieldProps extends PartProps {
  name: keyof TypedService
  label: string
  hint?: string
  required?: boolean
}

const Line: FC<FieldProps> = ({ id, name, label, start, hint, required = false }) => (
  <div>
    <label for={`service-${id}-${name}`}>{label}</label>
    <input
      id={`service-${id}-${name}`}
      name={name}
      value={start[name]}
      autocomplete="off"
      spellcheck={false}
      required={required}
    />
    {hint && <p class="meta">{hint}</p>}
  </div>
)

const Lines: FC<FieldProps> = ({ id, name, label, start, hint }) => (
  <div>
    <label for={`service-${id}-${name}`}>{label}</label>
    <textarea
      id={`service-${id}-${name}`}
      name={name}
      rows={2}
      spellcheck={false}
      autocomplete="off"
    >
      {start[name]}
    </textarea>
    {hint && <p class="meta">{hint}</p>}
  </div>
)

const Options: FC<PartProps> = ({ id, start }) => (
  <div>
    <label for={`service-${id}-format`}>Its answers are</label>
    <select id={`service-${id}-format`} name="format">
      <option value="json" selected={start.format === 'json'}>
        JSON; a web page is an error
      </option>
      <option value="any" selected={start.format === 'any'}>
        anything
      </option>
    </select>
    <label class="check up2">
      <input type="checkbox" name="allow_http" checked={start.allow_http === 'on'} /> plain http is
      allowed
    </label>
    <label class="check">
      <input type="checkbox" name="allow_private" checked={start.allow_private === 'on'} /> private
      addresses are allowed
    </label>
  </div>
)
