import type { FC } from 'hono/jsx'
import { outside } from '../../shared/config'

/** The submitted fields, without the value, which is never sent back. */
export type TypedCredential = Record<(typeof credentialFields)[number], string>

export const credentialFields = ['name', 'server', 'service', 'agent', 'community'] as const

interface AddCredentialProps {
  servers: readonly string[]
  typed: TypedCredential | null
}

export const AddCredential: FC<AddCredentialProps> = ({ servers, typed }) => (
  <details class="up4" {...(typed ? { open: true } : {})}>
    <summary>Set a credential</summary>
    <form class="form wide up3" method="post" action="/credentials">
      <fieldset>
        <Text
          name="name"
          label="Name"
          typed={typed}
          hint="Lower case letters, digits and dashes."
          required
        />
        <div>
          <label for="credential-server">Server</label>
          <select id="credential-server" name="server">
            {servers.map((server) => (
              <option value={server} selected={(typed?.server ?? 'http') === server}>
                {server}
              </option>
            ))}
          </select>
        </div>
        <Text
          name="service"
          label="Service"
          typed={typed}
          hint="A service listed below: github, aws, or one that you declared."
          required
        />
        <div>
          <label for="credential-value">Value</label>
          <input
            id="credential-value"
            name="value"
            type="password"
            maxlength={outside.credentialCharsMax}
            autocomplete="off"
            spellcheck={false}
            aria-describedby="credential-value-note"
            required
          />
          <p class="meta" id="credential-value-note">
            The secret, or env:ROOKERY_SECRET_NAME for a secret of the Worker.
          </p>
        </div>
        <Text name="agent" label="Agent" typed={typed} hint="Leave empty for all agents." />
        <Text
          name="community"
          label="Community"
          typed={typed}
          hint="Leave empty for all communities."
        />
      </fieldset>
      <div class="acts">
        <button type="submit" class="btn go">
          Save
        </button>
      </div>
    </form>
  </details>
)

interface TextProps {
  name: keyof TypedCredential
  label: string
  typed: TypedCredential | null
  hint: string
  required?: boolean
}

const Text: FC<TextProps> = ({ name, label, typed, hint, required = false }) => (
  <div>
    <label for={`credential-${name}`}>{label}</label>
    <input
      id={`credential-${name}`}
      name={name}
      value={typed?.[name] ?? ''}
      maxlength={100}
      autocomplete="off"
      spellcheck={false}
      required={required}
      aria-describedby={`credential-${name}-note`}
    />
    <p class="meta" id={`credential-${name}-note`}>
      {hint}
    </p>
  </div>
)
