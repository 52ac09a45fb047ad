// Sets the chosen theme before the first paint. A classic script, since a module would run too late. The choice is no
// secret, so it may outlive the session.
try {
  const chosen = localStorage.getItem("toolpulse.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // Storage may be switched off: then the system's theme holds.
}
