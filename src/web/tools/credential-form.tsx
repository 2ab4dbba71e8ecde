import type { FC } from 'hono/jsx'
import { outside } from '../../shared/config'

interface AddCredentialProps {
  servers: readonly string[]
  /** The form was rejected. Its fields are never sent back, so they are empty again. */
  isRejected: boolean
}

/** The form for a new credential. It goes to mcp-servers, so that no value passes through a page. */
export const AddCredential: FC<AddCredentialProps> = ({ servers, isRejected }) => (
  <details class="up4" {...(isRejected ? { open: true } : {})}>
    <summary>Add a credential</summary>
    {isRejected && <p class="meta">Nothing was saved. Enter all fields again.</p>}
    <form class="form wide up3" method="post" action="/credentials">
      <fieldset>
        <Text name="name" label="Name" hint="Lower case letters, digits and dashes." required />
        <div>
          <label for="credential-server">Server</label>
          <select id="credential-server" name="server">
            {servers.map((server) => (
              <option value={server} selected={server === 'http'}>
                {server}
              </option>
            ))}
          </select>
        </div>
        <Text
          name="service"
          label="Service"
          hint="A service listed below, such as github, aws or one that you added."
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
        <Text name="agent" label="Agent" hint="Leave empty for all agents." />
        <Text name="community" label="Community" hint="Leave empty for all communities." />
      </fieldset>
      <div class="acts">
        <button type="submit" class="btn go">
          Add credential
        </button>
      </div>
    </form>
  </details>
)

interface TextProps {
  name: 'name' | 'service' | 'agent' | 'community'
  label: string
  hint: string
  required?: boolean
}

const Text: FC<TextProps> = ({ name, label, hint, required = false }) => (
  <div>
    <label for={`credential-${name}`}>{label}</label>
    <input
      id={`credential-${name}`}
      name={name}
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
